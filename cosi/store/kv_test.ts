// SPDX-License-Identifier: AGPL-3.0-or-later

import { match, rejects, strictEqual } from "node:assert/strict";
import { formatError } from "../../base/errors.ts";
import { changed, draft, KIND, ref, testConformance, WRITE_CASES } from "../state/conformance.ts";
import { WATCH_CASES } from "../state/conformance_watch.ts";
import { openState, type StateCore } from "../state/core.ts";
import type { StateKeys } from "./codec.ts";
import { openKvStore } from "./kv.ts";

const KEYS = { current: new Uint8Array(32).fill(1) };

async function open(path: string, keys: StateKeys | undefined = KEYS): Promise<StateCore> {
  return await openState({ store: await openKvStore({ path, keys }) });
}

async function withFile(run: (path: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(`${directory}/state.kv`);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function refused(path: string, keys: StateKeys, expected: RegExp): Promise<void> {
  await rejects(open(path, keys), (error) => {
    match(formatError(error), expected);
    return true;
  });
}

function randomBytes(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

testConformance("kv", [...WRITE_CASES, ...WATCH_CASES], async () => {
  const directory = await Deno.makeTempDir();
  const state = await open(`${directory}/state.kv`);
  return {
    state,
    async [Symbol.asyncDispose]() {
      await state.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
});

Deno.test("openKvStore() gives back records of every size after a restart", () =>
  withFile(async (path) => {
    const first = await open(path);
    const sizes = [0, 100, 64_000, 65_000, 130_000, 600_000];
    for (const size of sizes) {
      await first.create({ ...draft(`r${size}`), protoSpec: randomBytes(size) });
    }
    await first.update({ ...changed(await first.get(ref("r600000"))), protoSpec: randomBytes(10) });
    await first.destroy(ref("r130000"));
    const large = { ...draft("large"), protoSpec: randomBytes(800_000) };
    await rejects(first.create(large), { code: "invalidArgument" });
    const wires = (await first.list(KIND)).map(({ wire }) => wire.toHex());
    await first.close();
    const second = await open(path);
    strictEqual(wires.length, 5);
    strictEqual((await second.list(KIND)).map(({ wire }) => wire.toHex()).join(), wires.join());
    await second.close();
  }));

Deno.test("openKvStore() refuses what it cannot read and says what to do", () =>
  withFile(async (path) => {
    const state = await open(path);
    await state.create(draft("a"));
    await state.close();
    await refused(path, { current: new Uint8Array(32) }, /key is not the one it was written with/);
    const kv = await Deno.openKv(path);
    for await (const { key, value } of kv.list<Uint8Array>({ prefix: ["batuta", "resource"] })) {
      await kv.set(key, value.slice(0, 30));
      await refused(path, KEYS, /record default\/test\/thing\/[0-9a-f]{64}\/0 cannot be opened/);
      await kv.delete(key);
      await refused(path, KEYS, /0 of 1 resources of default\/test\/thing are there/);
    }
    kv.close();
    await refused(`${path}/no/such`, KEYS, /Cannot open KV store .*check that the path/);
  }));

Deno.test("openKvStore() refuses a file that another server has, by any of its names", () =>
  withFile(async (path) => {
    const first = await open(path);
    await first.create(draft("a"));
    await refused(path, KEYS, /Cannot open KV store .*: another process has it open/);
    await Deno.symlink(path, `${path}.link`);
    await refused(`${path}.link`, KEYS, /another process has it open/);
    await first.update(changed(await first.get(ref("a"))));
    await first.close();
    const second = await open(`${path}.link`);
    strictEqual((await second.get(ref("a"))).metadata.version, 2);
    await second.close();
  }));

Deno.test("a state on Deno KV ends when something else has written to it", () =>
  withFile(async (path) => {
    const failed = Promise.withResolvers<unknown>();
    const state = await openState({
      store: await openKvStore({ path, keys: KEYS }),
      onFailure: failed.resolve,
    });
    await state.create(draft("a"));
    const kv = await Deno.openKv(path);
    const key = ["batuta", "meta", "revision"];
    await kv.set(key, (await kv.get(key)).value);
    kv.close();
    await rejects(state.create(draft("b")), { code: "unavailable" });
    match(formatError(await failed.promise), /another process has opened/);
    await state.close();
  }));
