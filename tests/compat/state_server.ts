// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server of nothing but the state, for the public suites and the benchmark of it:
 * `state_server.ts --address HOST:PORT [--data DIRECTORY] [--store memory|sqlite]`.
 *
 * @module
 */

import { parseArgs } from "node:util";
import { createLogger } from "../../base/log.ts";
import { openState } from "../../cosi/state/core.ts";
import { createStateService } from "../../cosi/state/service.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { openSqliteStore } from "../../cosi/store/sqlite.ts";
import type { Store } from "../../cosi/store/store.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { listenTcp } from "../../rpc/tcp.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: {
    address: { type: "string", default: "127.0.0.1:6000" },
    data: { type: "string", default: "." },
    store: { type: "string", default: "memory" },
  },
});

// A fixed key: the data are of the tests alone.
const keys = { current: new Uint8Array(32).fill(7) };

function openStore(): Promise<Store> | Store {
  switch (values.store) {
    case "memory":
      return openMemoryStore();
    case "sqlite":
      return openSqliteStore({ path: `${values.data}/state.db`, keys });
    default:
      throw new Error(`Unknown store "${values.store}"`);
  }
}

const log = createLogger({ level: "info" });
const state = await openState({
  store: await openStore(),
  log,
  onFailure: (error) => {
    log.error("state store failed", { error });
    Deno.exit(1);
  },
});
const colon = values.address.lastIndexOf(":");
const listener = listenTcp({
  hostname: values.address.slice(0, colon),
  port: Number(values.address.slice(colon + 1)),
});
const server = createRpcServer({ services: [createStateService(state)], log });
Deno.addSignalListener("SIGTERM", async () => {
  server.close();
  await state.close();
  Deno.exit(0);
});
await server.serve(listener);
