// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { formatError } from "../../base/errors.ts";
import { draft, KIND } from "../state/conformance.ts";
import { openState, type StateCore } from "../state/core.ts";
import type { StateKeys } from "./codec.ts";
import { startEtcd } from "./etcd_child.ts";
import { openEtcdStore } from "./etcd.ts";
import { openKvStore } from "./kv.ts";
import { rotateKey, type StoreTarget } from "./rotate_key.ts";
import { openSqliteStore } from "./sqlite.ts";

const OLD = new Uint8Array(32).fill(1);
const NEW = new Uint8Array(32).fill(2);

type OpenTarget = Exclude<StoreTarget, { kind: "etcd child" }>;

async function open(target: OpenTarget, keys: StateKeys | undefined): Promise<StateCore> {
  const store = target.kind === "sqlite"
    ? await openSqliteStore({ ...target, keys })
    : target.kind === "kv"
    ? await openKvStore({ ...target, keys })
    : await openEtcdStore({ ...target, keys, identity: "test", onLost: () => {} });
  return await openState({ store });
}

/** Fills a state, rotates its key and reads it with the new one alone. */
async function checkRotation(target: OpenTarget, from: StateKeys | undefined): Promise<void> {
  const before = await open(target, from);
  for (let i = 0; i < 120; i++) {
    await before.create(draft(`r${i}`, `spec ${i} ${"x".repeat(i * 9)}`));
  }
  const specs = (await before.list(KIND)).map(({ protoSpec }) => protoSpec.toHex());
  await before.close();
  const keys = from === undefined
    ? { current: NEW, acceptPlain: true }
    : { current: NEW, previous: [from.current] };
  strictEqual(await rotateKey(target, keys), 120);
  // A second time, as after an interruption.
  strictEqual(await rotateKey(target, keys), 120);
  await rejects(open(target, from), { code: "failedPrecondition" });
  const after = await open(target, { current: NEW });
  deepStrictEqual((await after.list(KIND)).map(({ protoSpec }) => protoSpec.toHex()), specs);
  await after.close();
}

async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

for (const kind of ["sqlite", "kv"] as const) {
  for (const [name, from] of [["another key", { current: OLD }], ["no key", undefined]] as const) {
    Deno.test(`rotateKey() seals a state on ${kind} that has ${name}`, () =>
      inDirectory((directory) => checkRotation({ kind, path: `${directory}/state` }, from)));
  }
}

const ignore = (await new Deno.Command("sh", { args: ["-c", "command -v etcd"], stdout: "null" })
  .output()).code !== 0;

Deno.test({
  name: "rotateKey() seals a state on etcd, and waits for no server",
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      const etcd = await startEtcd({ dataDirectory: directory });
      const target: OpenTarget = {
        kind: "etcd",
        endpoints: [etcd.endpoint],
        prefix: "/cosi",
        tls: {},
      };
      const running = await open(target, { current: OLD });
      const keys = { current: NEW, previous: [OLD] };
      await rejects(rotateKey(target, keys), /server "test" is active; stop all servers first/);
      await running.close();
      await checkRotation(target, { current: OLD });
      await etcd.close();
    }),
});

Deno.test({
  name: "rotateKey() starts the etcd of a stopped server and waits for no lease of it",
  ignore,
  fn: () =>
    inDirectory(async (directory) => {
      const dataDirectory = `${directory}/etcd`;
      const target = {
        kind: "etcd child",
        dataDirectory,
        binary: undefined,
        prefix: "/cosi",
      } as const;
      const keys = { current: NEW, previous: [OLD] };
      await rejects(rotateKey(target, keys), { code: "notFound" });
      let etcd = await startEtcd({ dataDirectory });
      const killed = await openEtcdStore({
        endpoints: [etcd.endpoint],
        keys: { current: OLD },
        identity: "killed",
        leaseTtlSeconds: 600,
        onLost: () => {},
      });
      const before = await openState({ store: killed });
      await before.create(draft("a", "spec"));
      // Ended before its server, so that the lease is left.
      await etcd.close();
      const closing = before.close();
      strictEqual(await rotateKey(target, keys), 1);
      await closing;
      etcd = await startEtcd({ dataDirectory });
      const endpoints = [etcd.endpoint];
      const after = await open({ kind: "etcd", endpoints, prefix: "/cosi", tls: {} }, {
        current: NEW,
      });
      strictEqual((await after.list(KIND)).length, 1);
      await after.close();
      await etcd.close();
    }),
});

Deno.test("rotateKey() refuses a state on Deno KV that a server has", () =>
  inDirectory(async (directory) => {
    const target: OpenTarget = { kind: "kv", path: `${directory}/state` };
    const state = await open(target, { current: OLD });
    await rejects(rotateKey(target, { current: NEW, previous: [OLD] }), { code: "unavailable" });
    await state.create(draft("a"));
    await state.close();
  }));

Deno.test("rotateKey() refuses a state that is in use, unreadable or not there", () =>
  inDirectory(async (directory) => {
    const target: OpenTarget = { kind: "sqlite", path: `${directory}/state` };
    await rejects(rotateKey(target, { current: NEW }), { code: "notFound" });
    const state = await open(target, { current: OLD });
    await rejects(rotateKey(target, { current: NEW, previous: [OLD] }), (error) => {
      match(formatError(error), /another process has it open/);
      return true;
    });
    await state.close();
    await rejects(rotateKey(target, { current: NEW }), { code: "failedPrecondition" });
    const again = await open(target, { current: OLD });
    await again.close();
  }));
