// SPDX-License-Identifier: AGPL-3.0-or-later

import { silentLogger } from "../../base/log.ts";
import { createChannel } from "../../rpc/channel.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { openMemoryStore } from "../store/memory.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { type StateUnderTest, testConformance, WRITE_CASES } from "./conformance.ts";
import { WATCH_CASES } from "./conformance_watch.ts";
import { openState } from "./core.ts";
import { createRemoteState } from "./grpc_client.ts";
import { createStateService } from "./service.ts";

const CASES = [...WRITE_CASES, ...WATCH_CASES];

async function open(store: Store, cleanUp: () => Promise<void>): Promise<StateUnderTest> {
  const state = await openState({ store });
  return {
    state,
    async [Symbol.asyncDispose]() {
      await state.close();
      await cleanUp();
    },
  };
}

async function openRemote(): Promise<StateUnderTest> {
  const core = await openState({ store: openMemoryStore() });
  const server = createRpcServer({ services: [createStateService(core)], log: silentLogger });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = server.serve(listener);
  const { port } = listener;
  const channel = createChannel({
    authority: `127.0.0.1:${port}`,
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
  });
  return {
    state: createRemoteState(channel),
    async [Symbol.asyncDispose]() {
      channel.close();
      await server.drain(5000);
      await serving;
      await core.close();
    },
  };
}

testConformance("memory", CASES, () => open(openMemoryStore(), () => Promise.resolve()));

testConformance("sqlite", CASES, async () => {
  const directory = await Deno.makeTempDir();
  const keys = { current: crypto.getRandomValues(new Uint8Array(32)) };
  const store = await openSqliteStore({ path: `${directory}/state.db`, keys });
  return open(store, () => Deno.remove(directory, { recursive: true }));
});

testConformance("gRPC", CASES, openRemote);
