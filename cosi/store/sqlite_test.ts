// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { formatError } from "../../base/errors.ts";
import { changed, draft, KIND, ref, specText } from "../state/conformance.ts";
import { openState, type StateCore } from "../state/core.ts";
import type { StateEvent } from "../state/state.ts";
import type { StateKeys } from "./codec.ts";
import { openSqliteStore } from "./sqlite.ts";

const KEYS = { current: new Uint8Array(32).fill(1) };
const OTHER = { current: new Uint8Array(32).fill(2) };

async function open(path: string, keys?: StateKeys): Promise<StateCore> {
  return await openState({ store: await openSqliteStore({ path, keys }) });
}

async function withFile(run: (path: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(`${directory}/state.db`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Makes a state with a few resources and closes it. */
async function fill(path: string, keys?: StateKeys): Promise<void> {
  const state = await open(path, keys);
  for (let i = 0; i < 20; i++) {
    await state.create(
      draft(`r${i}`, `spec ${i} ${"x".repeat(i * 200)}`, { labels: { n: `${i}` } }),
    );
  }
  await state.update(changed(await state.get(ref("r1"))));
  await state.destroy(ref("r2"));
  await state.close();
}

async function refused(path: string, keys: StateKeys | undefined, expected: RegExp): Promise<void> {
  await rejects(open(path, keys), (error) => {
    match(formatError(error), expected);
    return true;
  });
}

async function firstEvents(
  state: StateCore,
  startFromBookmark: Uint8Array,
): Promise<readonly StateEvent[]> {
  const { signal } = new AbortController();
  for await (const events of await state.watchKind(KIND, { startFromBookmark, signal })) {
    return events;
  }
  return [];
}

for (const [name, keys] of [["encrypted", KEYS], ["plain", undefined]] as const) {
  Deno.test(`openSqliteStore() gives back a state, ${name}, after a restart`, () =>
    withFile(async (path) => {
      await fill(path, keys);
      const state = await open(path, keys);
      strictEqual((await state.list(KIND)).length, 19);
      const updated = await state.get(ref("r1"));
      strictEqual(updated.metadata.version, 2);
      deepStrictEqual({ ...updated.metadata.labels }, { n: "1" });
      strictEqual(specText(await state.get(ref("r19"))), `spec 19 ${"x".repeat(19 * 200)}`);
      strictEqual((await state.update(changed(updated))).metadata.version, 3);
      await state.close();
      const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
      strictEqual(text.includes("spec 3"), keys === undefined);
    }));
}

Deno.test("openSqliteStore() refuses what it cannot read and says what to do", () =>
  withFile(async (path) => {
    await fill(path, KEYS);
    const before = await Deno.readFile(path);
    await refused(path, OTHER, /key is not the one it was written with/);
    await refused(path, undefined, /encrypted; name its key in state.key/);
    const running = await open(path, KEYS);
    await refused(path, KEYS, /another process has it open/);
    await running.close();
    await refused(`${path}/no/such`, KEYS, /it or its directory cannot be opened; check the path/);
    await Deno.writeFile(path, before.slice(0, before.length >> 1));
    await refused(path, KEYS, /damaged|Cannot read state file/);
    await Deno.writeFile(path, new Uint8Array(0));
    await refused(path, KEYS, /is empty, as a state never is/);
    await Deno.writeFile(path, new TextEncoder().encode("no database ".repeat(1000)));
    await refused(path, KEYS, /is damaged; restore it/);
    await Deno.writeFile(path, before);
    const again = await open(path, KEYS);
    strictEqual((await again.list(KIND)).length, 19);
    await again.close();
  }));

Deno.test("openSqliteStore() refuses an unencrypted state when there is a key", () =>
  withFile(async (path) => {
    await fill(path);
    await refused(path, KEYS, /written without a key/);
    const state = await open(path);
    strictEqual((await state.list(KIND)).length, 19);
    await state.close();
  }));

Deno.test("openSqliteStore() refuses a state with a damaged or missing record", () =>
  withFile(async (path) => {
    await fill(path, KEYS);
    const edit = (sql: string): void => {
      const database = new DatabaseSync(path);
      database.exec(sql);
      database.close();
    };
    const good = await Deno.readFile(path);
    const last = "SELECT id FROM resources ORDER BY id DESC LIMIT 1";
    edit(`UPDATE resources SET value = substr(value, 1, 40) WHERE id = (${last})`);
    await refused(
      path,
      KEYS,
      /record of default\/test\/thing with hashed ID [0-9a-f]{16}… cannot be/,
    );
    await Deno.writeFile(path, good);
    edit(`DELETE FROM resources WHERE id = (${last})`);
    await refused(path, KEYS, /18 of 19 resources of default\/test\/thing are there/);
    await Deno.writeFile(path, good);
    edit("DELETE FROM meta WHERE name = 'revision'");
    await refused(path, KEYS, /its entry "revision" is missing/);
    await Deno.writeFile(path, good);
    edit("UPDATE meta SET value = x'63' WHERE name = 'format'");
    await refused(path, KEYS, /its format is 99/);
  }));

Deno.test("a bookmark from before a restart resumes exactly or is refused", () =>
  withFile(async (path) => {
    const before = await open(path, KEYS);
    const { signal } = new AbortController();
    const bookmarks: Uint8Array[] = [];
    const watch = await before.watchKind(KIND, { bootstrapBookmark: true, signal });
    await before.create(draft("a"));
    await before.create(draft("b"));
    for await (const events of watch) {
      for (const { bookmark } of events) bookmarks.push(bookmark ?? new Uint8Array());
      if (bookmarks.length >= 3) break;
    }
    await before.close();
    const [atStart, afterA, afterB] = bookmarks;
    ok(atStart && afterA && afterB);
    const after = await open(path, KEYS);
    await rejects(firstEvents(after, atStart), { code: "failedPrecondition" });
    await rejects(firstEvents(after, afterA), { code: "failedPrecondition" });
    const events = firstEvents(after, afterB);
    await after.create(draft("c"));
    deepStrictEqual((await events).map(({ resource }) => resource.metadata.id), ["c"]);
    await after.close();
  }));

Deno.test("a bookmark from a history that a restored copy does not hold is refused", () =>
  withFile(async (path) => {
    await fill(path, KEYS);
    const copy = await Deno.readFile(path);
    const first = await open(path, KEYS);
    const { signal } = new AbortController();
    const watch = await first.watchKind(KIND, { signal });
    await first.create(draft("lost"));
    let bookmark = new Uint8Array();
    for await (const events of watch) {
      bookmark = events[0]?.bookmark?.slice() ?? bookmark;
      break;
    }
    await first.close();
    await Deno.writeFile(path, copy);
    const restored = await open(path, KEYS);
    await restored.create(draft("other"));
    await restored.create(draft("more"));
    await rejects(firstEvents(restored, bookmark), { code: "failedPrecondition" });
    await restored.close();
  }));

Deno.test("openSqliteStore() keeps nothing of ephemeral types", () =>
  withFile(async (path) => {
    const options = { isEphemeral: (type: string) => type === KIND.type };
    const open = async (): Promise<StateCore> =>
      await openState({ store: await openSqliteStore({ path, keys: KEYS }), ...options });
    const first = await open();
    await first.create(draft("a"));
    strictEqual((await first.get(ref("a"))).metadata.version, 1);
    await first.close();
    const second = await open();
    deepStrictEqual(await second.list(KIND), []);
    await second.close();
  }));

async function mount(...args: string[]): Promise<boolean> {
  const { code } = await new Deno.Command("mount", { args, stderr: "null" }).output()
    .catch(() => ({ code: 1 }));
  return code === 0;
}

const canMount = await (async () => {
  const directory = await Deno.makeTempDir();
  const mounted = await mount("-t", "tmpfs", "-o", "size=64k", "none", directory);
  if (mounted) await new Deno.Command("umount", { args: [directory] }).output();
  await Deno.remove(directory);
  return mounted;
})();

if (!canMount) console.warn("Mounting is not allowed: the tests of full disks are left out");

Deno.test({
  name: "openSqliteStore() loses nothing on a full disk and refuses a read-only one",
  ignore: !canMount,
  async fn() {
    const directory = await Deno.makeTempDir();
    await mount("-t", "tmpfs", "-o", "size=24m", "none", directory);
    try {
      const path = `${directory}/state.db`;
      const failures: unknown[] = [];
      const store = await openSqliteStore({ path, keys: KEYS });
      const state = await openState({ store, onFailure: (error) => failures.push(error) });
      const protoSpec = crypto.getRandomValues(new Uint8Array(60_000));
      const stored: string[] = [];
      await rejects(async () => {
        for (let i = 0; i < 1000; i++) {
          await state.create({ ...draft(`r${i}`), protoSpec });
          stored.push(`r${i}`);
        }
      }, { code: "resourceExhausted" });
      ok(stored.length > 10);
      deepStrictEqual(failures, []);
      await rejects(state.create({ ...draft("more"), protoSpec }), { code: "resourceExhausted" });
      strictEqual((await state.list(KIND)).length, stored.length);
      await mount("-o", "remount,size=64m", directory);
      await state.create({ ...draft("later"), protoSpec });
      await state.close();
      await mount("-o", "remount,ro", directory);
      await refused(path, KEYS, /it is read-only; give the server write access/);
      await mount("-o", "remount,rw", directory);
      const again = await open(path, KEYS);
      const ids = (await again.list(KIND)).map(({ metadata }) => metadata.id);
      deepStrictEqual(ids.sort(), [...stored, "later"].sort());
      await again.close();
    } finally {
      await new Deno.Command("umount", { args: [directory] }).output();
      await Deno.remove(directory, { recursive: true });
    }
  },
});
