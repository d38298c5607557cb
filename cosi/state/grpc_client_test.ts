// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { createChannel } from "../../rpc/channel.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { openMemoryStore } from "../store/memory.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { brief, draft, eachEvent, KIND, nextEvents, ref } from "./conformance.ts";
import { openState, type StateCore } from "./core.ts";
import { createRemoteState } from "./grpc_client.ts";
import { createStateService } from "./service.ts";
import type { State, WatchKindOptions } from "./state.ts";

interface Running extends AsyncDisposable {
  readonly core: StateCore;
  readonly port: number;
}

/** A server, on the port of one before when that is given. */
async function start(store: Store, port = 0): Promise<Running> {
  const core = await openState({ store });
  const server = createRpcServer({ services: [createStateService(core)], log: silentLogger });
  const listener = listenTcp({ hostname: "127.0.0.1", port });
  const serving = server.serve(listener);
  return {
    core,
    port: listener.port,
    async [Symbol.asyncDispose]() {
      server.close();
      await serving;
      await core.close();
    },
  };
}

/** Watches over a restart of the server. */
async function overRestart(
  openStore: () => Store | Promise<Store>,
  options: Omit<WatchKindOptions, "signal">,
  run: (parts: {
    readonly events: ReturnType<typeof eachEvent>;
    readonly before: Running;
    restart(): Promise<Running>;
  }) => Promise<void>,
): Promise<void> {
  const before = await start(await openStore());
  const { port } = before;
  const channel = createChannel({
    authority: `127.0.0.1:${port}`,
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    backoff: { initialMs: 1, maximumMs: 10 },
  });
  const state: State = createRemoteState(channel);
  const end = new AbortController();
  const events = eachEvent(await state.watchKind(KIND, { ...options, signal: end.signal }));
  let after: Running | undefined;
  try {
    await run({
      events,
      before,
      async restart() {
        await before[Symbol.asyncDispose]();
        return after = await start(await openStore(), port);
      },
    });
  } finally {
    end.abort();
    await events.return(undefined);
    channel.close();
    await after?.[Symbol.asyncDispose]();
  }
}

async function withSqlite(run: (open: () => Promise<Store>) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(() => openSqliteStore({ path: `${directory}/state.db` }));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

for (const options of [{ bootstrapContents: true }, { bootstrapBookmark: true }]) {
  const [name = ""] = Object.keys(options);
  Deno.test(`createRemoteState() resumes a watch with ${name} after a restart, without a gap`, () =>
    withSqlite((open) =>
      overRestart(open, options, async ({ events, before, restart }) => {
        const [first] = await nextEvents(events, 1);
        strictEqual(first?.type, name === "bootstrapContents" ? "bootstrapped" : "noop");
        await before.core.create(draft("a"));
        deepStrictEqual((await nextEvents(events, 1)).map(brief), ["created a v1"]);
        const after = await restart();
        await after.core.create(draft("b"));
        await after.core.destroy(ref("a"));
        const seen = await nextEvents(events, 2);
        deepStrictEqual(seen.map(brief), ["created b v1", "destroyed a v1"]);
      })
    ));
}

Deno.test("createRemoteState() ends a watch whose events a restart has lost", () =>
  overRestart(openMemoryStore, { bootstrapBookmark: true }, async ({ events, before, restart }) => {
    await nextEvents(events, 1);
    await before.core.create(draft("a"));
    await nextEvents(events, 1);
    await restart();
    const [last] = await nextEvents(events, 1);
    strictEqual(last?.type, "errored");
    match(last.error ?? "", /bookmark is not of this state/);
    strictEqual((await events.next()).done, true);
  }));

Deno.test("createRemoteState() ends a watch that has no bookmark to go on from", () =>
  withSqlite((open) =>
    overRestart(open, {}, async ({ events, restart }) => {
      const next = events.next();
      await restart();
      strictEqual((await next).value?.type, "errored");
      strictEqual((await events.next()).done, true);
    })
  ));
