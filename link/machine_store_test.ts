// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual, throws } from "node:assert/strict";
import { codeOf } from "../base/errors.ts";
import { Secret } from "../base/redact.ts";
import { type MachineStore, type MachineStoreOptions, openMachineStore } from "./machine_store.ts";

const EVERYTHING = { tailLines: -1, follow: false, signal: new AbortController().signal };

interface Fixture extends Disposable {
  readonly store: MachineStore;
  readonly removed: Record<string, number>;
  nowMs: number;
}

function openFixture(options: Partial<MachineStoreOptions> = {}): Fixture {
  const removed: Record<string, number> = {};
  const fixture: Fixture = {
    removed,
    nowMs: 0,
    store: openMachineStore({
      path: ":memory:",
      retentionMs: 1_000,
      bytesPerMachine: 1_000_000,
      bytesInTotal: 1_000_000,
      clock: { nowMs: () => fixture.nowMs, sleep: () => Promise.resolve() },
      onRemoved: (cause, count) => removed[cause] = (removed[cause] ?? 0) + count,
      ...options,
    }),
    [Symbol.dispose]: () => fixture.store.close(),
  };
  return fixture;
}

async function linesOf(store: MachineStore, machine: string, tailLines = -1): Promise<string[]> {
  return await Array.fromAsync(store.readLog(machine, { ...EVERYTHING, tailLines }));
}

Deno.test("the store gives each machine's lines in the order of their coming", async () => {
  using fixture = openFixture();
  const { store } = fixture;
  for (const line of ["1", "2", "3"]) await store.putLogLine("m", line);
  await store.putLogLine("other", "x");
  await store.putEvent("m", "id", "machine.TaskEvent", Uint8Array.of(1));
  deepStrictEqual([await store.hasEvent("m", "id"), await store.hasEvent("other", "id")], [
    true,
    false,
  ]);
  deepStrictEqual(await linesOf(store, "m"), ["1", "2", "3"]);
  deepStrictEqual(await linesOf(store, "m", 2), ["2", "3"]);
  deepStrictEqual(await linesOf(store, "m", 9), ["1", "2", "3"]);
  deepStrictEqual(await linesOf(store, "nobody"), []);
});

Deno.test("a line that is delivered again is stored once, if it can be told", async () => {
  using fixture = openFixture();
  const keyed = '{"msg":"a","seq":7,"clock":99}';
  for (const line of [keyed, keyed, "plain", "plain"]) await fixture.store.putLogLine("m", line);
  await fixture.store.putLogLine("other", keyed);
  deepStrictEqual(await linesOf(fixture.store, "m"), [keyed, "plain", "plain"]);
  deepStrictEqual(await linesOf(fixture.store, "other"), [keyed]);
});

Deno.test("a machine that says too much loses its own oldest lines", async () => {
  using fixture = openFixture({ bytesPerMachine: 5_000 });
  const line = (number: number) => `${number} ${"x".repeat(400)}`;
  await fixture.store.putLogLine("quiet", "kept");
  for (let number = 0; number < 100; number++) await fixture.store.putLogLine("m", line(number));
  const left = await linesOf(fixture.store, "m");
  strictEqual(left.at(-1), line(99));
  strictEqual(left.length >= 5 && left.length <= 12, true);
  strictEqual(fixture.removed.machineSize, 100 - left.length);
  deepStrictEqual(await linesOf(fixture.store, "quiet"), ["kept"]);
});

Deno.test("all machines together lose the oldest lines of all", async () => {
  using fixture = openFixture({ bytesInTotal: 5_000 });
  for (let number = 0; number < 50; number++) {
    await fixture.store.putLogLine(`m${number}`, "x".repeat(400));
  }
  deepStrictEqual(await linesOf(fixture.store, "m0"), []);
  strictEqual((await linesOf(fixture.store, "m49")).length, 1);
  strictEqual((fixture.removed.totalSize ?? 0) >= 38, true);
});

Deno.test("records go when they are old", async () => {
  using fixture = openFixture();
  await fixture.store.putLogLine("m", "old");
  fixture.nowMs = 600;
  await fixture.store.putLogLine("m", "new");
  fixture.nowMs = 1_100;
  await fixture.store.expire();
  deepStrictEqual(await linesOf(fixture.store, "m"), ["new"]);
  deepStrictEqual(fixture.removed, { age: 1 });
});

Deno.test("many old records go a few at a time, until the store is closed", async () => {
  const counts: number[] = [];
  using fixture = openFixture({ onRemoved: (_cause, count) => counts.push(count) });
  for (let number = 0; number < 250; number++) await fixture.store.putLogLine("m", `${number}`);
  fixture.nowMs = 1_100;
  await fixture.store.putLogLine("m", "new");
  await fixture.store.expire();
  deepStrictEqual(counts, [100, 100, 50]);
  deepStrictEqual(await linesOf(fixture.store, "m"), ["new"]);

  const other = openFixture();
  for (let number = 0; number < 250; number++) await other.store.putLogLine("m", `${number}`);
  other.nowMs = 1_100;
  const expiring = other.store.expire();
  other.store.close();
  await expiring;
  deepStrictEqual(other.removed, { age: 100 });
});

Deno.test("a reader that follows gets every line once, also those that came while it read", async () => {
  using fixture = openFixture();
  const { store } = fixture;
  for (let number = 0; number < 2_500; number++) await store.putLogLine("m", `${number}`);
  const stop = new AbortController();
  const read: string[] = [];
  for await (
    const line of store.readLog("m", { tailLines: -1, follow: true, signal: stop.signal })
  ) {
    read.push(line);
    if (read.length === 1_500) await store.putLogLine("m", "2500");
    if (read.length === 2_501) await store.putLogLine("m", "2501");
    if (line === "2501") stop.abort();
  }
  deepStrictEqual(read, Array.from({ length: 2_502 }, (_, number) => `${number}`));
});

Deno.test("a follower that falls too far behind is cut, not fed for ever", async () => {
  using fixture = openFixture();
  const follow = { tailLines: 0, follow: true, signal: new AbortController().signal };
  const lines = fixture.store.readLog("m", follow)[Symbol.asyncIterator]();
  const first = lines.next();
  for (let number = 0; number < 11_000; number++) await fixture.store.putLogLine("m", `${number}`);
  await first;
  await rejects(
    async () => {
      while (!(await lines.next()).done);
    },
    (error) => codeOf(error) === "resourceExhausted",
  );
});

Deno.test("an encrypted store shows nothing in its file and needs its key", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/machines.sqlite`;
  const key = new Secret(new Uint8Array(32).fill(7));
  try {
    {
      using fixture = openFixture({ path, key });
      await fixture.store.putLogLine("m", "a very secret line");
      deepStrictEqual(await linesOf(fixture.store, "m"), ["a very secret line"]);
    }
    strictEqual(((await Deno.stat(path)).mode ?? 0) & 0o777, 0o600);
    const bytes = new TextDecoder("latin1").decode(await Deno.readFile(path));
    strictEqual(bytes.includes("secret line"), false);
    for (const other of [undefined, new Secret(new Uint8Array(32))]) {
      using fixture = openFixture({ path, key: other });
      await rejects(linesOf(fixture.store, "m"), (error) => codeOf(error) === "failedPrecondition");
    }
    {
      using fixture = openFixture({ path, key });
      deepStrictEqual(await linesOf(fixture.store, "m"), ["a very secret line"]);
    }
    const next = new Secret(new Uint8Array(32).fill(8));
    {
      const unrelated = new Secret(new Uint8Array(32));
      using fixture = openFixture({ path, key: next, previous: [unrelated, key] });
      await fixture.store.putLogLine("m", "a later line");
      deepStrictEqual(await linesOf(fixture.store, "m"), ["a very secret line", "a later line"]);
    }
    // What is written goes under the new key alone.
    using fixture = openFixture({ path, key: next });
    deepStrictEqual(await linesOf(fixture.store, "m", 1), ["a later line"]);
    await rejects(linesOf(fixture.store, "m"), (error) => codeOf(error) === "failedPrecondition");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("a file that cannot be opened says which and what to look at", () => {
  throws(
    () => openFixture({ path: "/nonexistent/machines.sqlite" }),
    (error) =>
      codeOf(error) === "unavailable" && error instanceof Error &&
      error.message.includes("/nonexistent/machines.sqlite"),
  );
});
