// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server of nothing but the state, for the public suites and the benchmark of it:
 * `state_server.ts --address HOST:PORT [--data DIRECTORY] [--store memory|sqlite|kv|etcd] [--etcd URL --name NAME --ttl SECONDS]`.
 * `--delays` logs at the end how long the event loop was held up.
 * Without `--etcd` the kind `etcd` starts a local one in the data directory.
 *
 * @module
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { createLogger } from "../../base/log.ts";
import { openState } from "../../cosi/state/core.ts";
import { createStateService } from "../../cosi/state/service.ts";
import { openEtcdStore } from "../../cosi/store/etcd.ts";
import { startEtcd } from "../../cosi/store/etcd_child.ts";
import { openKvStore } from "../../cosi/store/kv.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { openSqliteStore } from "../../cosi/store/sqlite.ts";
import { closeAfter, type Store } from "../../cosi/store/store.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { listenTcp } from "../../rpc/tcp.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    address: { type: "string", default: "127.0.0.1:6000" },
    data: { type: "string", default: "." },
    store: { type: "string", default: "memory" },
    etcd: { type: "string" },
    name: { type: "string", default: "server" },
    ttl: { type: "string", default: "5" },
    delays: { type: "boolean", default: false },
  },
});

// A fixed key: the data are of the tests alone.
const keys = { current: new Uint8Array(32).fill(7) };

const log = createLogger({ level: "info" });

function fail(error: unknown): void {
  log.error("state failed", { error });
  Deno.exit(1);
}

async function openEtcd(): Promise<Store> {
  const child = values.etcd === undefined
    ? await startEtcd({ dataDirectory: `${values.data}/etcd` })
    : undefined;
  let isClosing = false;
  void child?.ended.then((printed) => isClosing || fail(new Error(`etcd ended: ${printed}`)));
  const store = await openEtcdStore({
    endpoints: [child?.endpoint ?? values.etcd ?? ""],
    keys,
    identity: values.name,
    leaseTtlSeconds: Number(values.ttl),
    onStandby: (active) => log.info("standing by", { reason: `"${active}" is active` }),
    onActive: () => log.info("active"),
    onLost: fail,
  });
  if (child === undefined) return store;
  return closeAfter(store, {
    async close() {
      isClosing = true;
      await child.close();
    },
  });
}

function openStore(): Promise<Store> | Store {
  switch (values.store) {
    case "memory":
      return openMemoryStore();
    case "sqlite":
      return openSqliteStore({ path: `${values.data}/state.db`, keys });
    case "kv":
      return openKvStore({ path: `${values.data}/state.kv`, keys });
    case "etcd":
      return openEtcd();
    default:
      throw new Error(`Unknown store "${values.store}"`);
  }
}

const state = await openState({
  store: await openStore(),
  log,
  onFailure: fail,
});
const colon = values.address.lastIndexOf(":");
const listener = listenTcp({
  hostname: values.address.slice(0, colon),
  port: Number(values.address.slice(colon + 1)),
});
const server = createRpcServer({ services: [createStateService(state)], log });
log.info("listening", { address: `127.0.0.1:${listener.port}` });
/**
 * Starts to measure how long the event loop is held up; returns what tells it.
 *
 * Two figures: the delay of a timer, to which a busy machine adds the time that others run, and the
 * processor time between two turns of the loop, which is this program's own.
 */
function measureDelays(): () => string {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const ownMs: number[] = [];
  const read = (): number =>
    Number(Deno.readTextFileSync("/proc/self/schedstat").split(" ")[0]) / 1e6;
  let last = read();
  setInterval(() => {
    const now = read();
    ownMs.push(now - last);
    last = now;
  }, 2);
  return () => {
    ownMs.sort((a, b) => a - b);
    const of = (share: number): string => {
      const own = ownMs[Math.min(ownMs.length - 1, Math.floor(ownMs.length * share / 100))] ?? 0;
      return `${share}%: ${(delays.percentile(share) / 1e6).toFixed(1)} (own ${own.toFixed(1)})`;
    };
    return [50, 99, 99.9, 100].map(of).join(", ");
  };
}

const delays = values.delays ? measureDelays() : undefined;
Deno.addSignalListener("SIGTERM", async () => {
  if (delays !== undefined) log.info("event loop held up, in ms", { reason: delays() });
  server.close();
  await state.close();
  Deno.exit(0);
});
await server.serve(listener);
