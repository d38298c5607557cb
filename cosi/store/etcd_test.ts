// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { CodedError, formatError } from "../../base/errors.ts";
import {
  changed,
  draft,
  KIND,
  ref,
  specText,
  testConformance,
  WRITE_CASES,
} from "../state/conformance.ts";
import { WATCH_CASES } from "../state/conformance_watch.ts";
import { openState, type StateCore } from "../state/core.ts";
import type { StateKeys } from "./codec.ts";
import { type EtcdChild, startEtcd } from "./etcd_child.ts";
import { createEtcdClient } from "./etcd_client.ts";
import { type EtcdStoreOptions, openEtcdStore } from "./etcd.ts";
import { escapeSegment, etcdLayout, rangeEnd } from "./etcd_layout.ts";

const KEYS = { current: new Uint8Array(32).fill(1) };
const ignore = (await new Deno.Command("sh", { args: ["-c", "command -v etcd"], stdout: "null" })
  .output()).code !== 0;

if (ignore) console.warn("There is no etcd: its tests are left out");

/** Runs with an etcd of its own. */
async function withEtcd(run: (etcd: EtcdChild) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const etcd = await startEtcd({ dataDirectory: `${directory}/data` });
  try {
    await run(etcd);
  } finally {
    await etcd.close();
    await Deno.remove(directory, { recursive: true });
  }
}

async function open(
  endpoint: string,
  keys: StateKeys | undefined = KEYS,
  options: Partial<EtcdStoreOptions> = {},
): Promise<StateCore> {
  const store = await openEtcdStore({
    endpoints: [endpoint],
    keys,
    identity: "one",
    leaseTtlSeconds: 3,
    onLost: (error) => {
      throw error;
    },
    ...options,
  });
  return await openState({ store });
}

testConformance("etcd", [...WRITE_CASES, ...WATCH_CASES], async () => {
  const directory = await Deno.makeTempDir();
  const etcd = await startEtcd({ dataDirectory: `${directory}/data` });
  const state = await open(etcd.endpoint);
  return {
    state,
    async [Symbol.asyncDispose]() {
      await state.close();
      await etcd.close();
      await Deno.remove(directory, { recursive: true });
    },
  };
}, { ignore });

Deno.test("escapeSegment() escapes as the layout demands", () => {
  strictEqual(escapeSegment("a/b c!'()*"), "a%2Fb%20c%21%27%28%29%2A");
  strictEqual(escapeSegment("$&+=:@-_.~"), "$&+=:@-_.~");
  strictEqual(escapeSegment("é;,?"), "%C3%A9%3B%2C%3F");
});

Deno.test({
  name: "openEtcdStore() gives back a state after a restart of the server and of etcd",
  ignore,
  async fn() {
    const directory = await Deno.makeTempDir();
    let etcd = await startEtcd({ dataDirectory: directory });
    const first = await open(etcd.endpoint);
    for (let i = 0; i < 450; i++) await first.create(draft(`r${i}`, `spec ${i} ${"x".repeat(i)}`));
    const second = await first.update(changed(await first.get(ref("r1"))));
    await first.destroy(ref("r2"));
    const { signal } = new AbortController();
    const watch = await first.watchKind(KIND, { bootstrapBookmark: true, signal });
    let bookmark: Uint8Array | undefined;
    for await (const events of watch) {
      bookmark = events[0]?.bookmark;
      break;
    }
    await first.close();
    await etcd.close();
    etcd = await startEtcd({ dataDirectory: directory });
    const state = await open(etcd.endpoint);
    strictEqual((await state.list(KIND)).length, 449);
    deepStrictEqual((await state.get(ref("r1"))).metadata, second.metadata);
    strictEqual(specText(await state.get(ref("r449"))), `spec 449 ${"x".repeat(449)}`);
    ok(bookmark);
    await state.watchKind(KIND, { startFromBookmark: bookmark, signal }).then(async (events) => {
      await events[Symbol.asyncIterator]().return?.();
    });
    await state.close();
    await etcd.close();
    await Deno.remove(directory, { recursive: true });
  },
});

Deno.test({
  name: "openEtcdStore() refuses what it cannot read and says what to do",
  ignore,
  fn: () =>
    withEtcd(async ({ endpoint }) => {
      const state = await open(endpoint);
      await state.create(draft("a"));
      await state.create(draft("b"));
      await state.close();
      const refused = async (keys: StateKeys | undefined, expected: RegExp): Promise<void> => {
        await rejects(open(endpoint, keys, {}), (error) => {
          match(formatError(error), expected);
          return true;
        });
      };
      await refused({ current: new Uint8Array(32).fill(2) }, /key is not the one it was written/);
      const client = createEtcdClient({ endpoints: [endpoint] });
      const key = etcdLayout("/cosi").resource(ref("a"));
      const { kvs: [pair] } = await client.range({ key });
      ok(pair);
      const put = async (value: Uint8Array): Promise<void> => {
        await client.txn({
          success: [{ request: { case: "requestPut", value: { key, value } } }],
        });
      };
      await put(pair.value.slice(0, 20));
      await refused(KEYS, /record "\/cosi\/default\/test%2Fthing\/[0-9a-f]{64}" cannot be opened/);
      await client.txn({
        success: [{ request: { case: "requestDeleteRange", value: { key } } }],
      });
      await refused(KEYS, /1 of 2 resources of default\/test\/thing are there/);
      const { kvs: [other] } = await client.range({ key: etcdLayout("/cosi").resource(ref("b")) });
      await put(other?.value ?? new Uint8Array());
      await refused(KEYS, /is of another resource/);
      client.close();
    }),
});

Deno.test({
  name: "openEtcdStore() refuses a resource that etcd cannot take and goes on",
  ignore,
  fn: () =>
    withEtcd(async ({ endpoint }) => {
      const state = await open(endpoint);
      const large = { ...draft("a"), protoSpec: crypto.getRandomValues(new Uint8Array(60_000)) };
      await state.create(large);
      const protoSpec = new Uint8Array(2 << 20);
      for (let at = 0; at < protoSpec.length; at += 65_536) {
        crypto.getRandomValues(protoSpec.subarray(at, at + 65_536));
      }
      await rejects(state.create({ ...draft("b"), protoSpec }), { code: "invalidArgument" });
      await state.create(draft("c"));
      strictEqual((await state.list(KIND)).length, 2);
      await state.close();
    }),
});

Deno.test({
  name: "a standby takes over when the active server gives up, and sees what it wrote",
  ignore,
  fn: () =>
    withEtcd(async ({ endpoint }) => {
      const first = await open(endpoint);
      await first.create(draft("a"));
      const seen: string[] = [];
      const stop = new AbortController();
      const standby = open(endpoint, KEYS, { identity: "two", onStandby: (who) => seen.push(who) });
      const third = open(endpoint, KEYS, { identity: "three", signal: stop.signal });
      const cancelled = rejects(third, { code: "cancelled" });
      await first.update(changed(await first.get(ref("a"))));
      const end = Date.now() + 10_000;
      while (seen.length === 0) {
        ok(Date.now() < end, "the standby does not see the active server");
        await first.update(changed(await first.get(ref("a"))));
      }
      deepStrictEqual([...new Set(seen)], ["one"]);
      stop.abort();
      await cancelled;
      const last = await first.get(ref("a"));
      await first.close();
      const second = await standby;
      deepStrictEqual((await second.get(ref("a"))).metadata, last.metadata);
      await second.update(changed(last));
      await second.close();
    }),
});

Deno.test({
  name: "a server that lost its lease can write nothing and is told",
  ignore,
  fn: () =>
    withEtcd(async ({ endpoint }) => {
      const lost = Promise.withResolvers<CodedError>();
      const failed = Promise.withResolvers<unknown>();
      const store = await openEtcdStore({
        endpoints: [endpoint],
        keys: KEYS,
        identity: "one",
        leaseTtlSeconds: 3,
        onLost: lost.resolve,
      });
      const state = await openState({ store, onFailure: failed.resolve });
      await state.create(draft("a"));
      // Somebody takes the key away, as the end of the lease does.
      const client = createEtcdClient({ endpoints: [endpoint] });
      const { leader, own } = etcdLayout("/cosi");
      const { kvs: [holder] } = await client.range({ key: leader });
      await client.revokeLease(holder?.lease ?? 0n);
      await rejects(state.create(draft("b")), { code: "unavailable" });
      match(formatError(await failed.promise), /another server is the active one/);
      match((await lost.promise).message, /its lease has ended/);
      const { kvs } = await client.range({ key: own, rangeEnd: rangeEnd(own) });
      strictEqual(kvs.some(({ key }) => key === leader), false);
      client.close();
      await state.close();
    }),
});

Deno.test({
  name: "openEtcdStore() says which members it cannot reach",
  ignore,
  async fn() {
    const { signal } = new AbortController();
    let now = 0;
    await rejects(
      openEtcdStore({
        endpoints: ["http://127.0.0.1:1"],
        identity: "one",
        signal,
        onLost: () => {},
        clock: { nowMs: () => now, sleep: () => Promise.resolve(void (now += 500)) },
      }),
      { code: "unavailable", message: "Cannot reach etcd at 127.0.0.1:1" },
    );
    await rejects(
      openEtcdStore({ endpoints: ["nonsense"], identity: "one", onLost: () => {} }),
      { code: "invalidArgument" },
    );
  },
});
