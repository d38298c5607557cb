// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { fromBinary } from "@bufbuild/protobuf";
import { CodedError } from "../../base/errors.ts";
import { silentLogger } from "../../base/log.ts";
import { GetResponseSchema, WatchResponseSchema } from "../../proto/gen/cosi/resource_pb.ts";
import { type Channel, createChannel } from "../../rpc/channel.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { openMemoryStore } from "../store/memory.ts";
import { changed, draft, KIND, ref } from "./conformance.ts";
import { openState, type StateCore } from "./core.ts";
import { createRemoteState } from "./grpc_client.ts";
import type { HistoryLimits } from "./history.ts";
import { writeGetRequest, writeWatchRequest, writeWriteRequest } from "./request_wire.ts";
import { createStateService, type StateServiceOptions } from "./service.ts";

interface Served extends AsyncDisposable {
  readonly core: StateCore;
  readonly channel: Channel;
}

async function serve(
  options: StateServiceOptions = {},
  history: Partial<HistoryLimits> = {},
): Promise<Served> {
  const core = await openState({ store: openMemoryStore(), history });
  const service = createStateService(core, options);
  const server = createRpcServer({ services: [service], log: silentLogger });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = server.serve(listener);
  const { port } = listener;
  const channel = createChannel({
    authority: `127.0.0.1:${port}`,
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
  });
  return {
    core,
    channel,
    async [Symbol.asyncDispose]() {
      channel.close();
      server.close();
      await serving;
      await core.close();
    },
  };
}

function path(method: string): string {
  return `/cosi.resource.State/${method}`;
}

/** One turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Waits until a condition of the server holds. */
async function eventually(condition: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error("The condition did not come to hold in 10 s");
    await turn();
  }
}

Deno.test("createStateService() sends an empty spec as present and its bytes as absent", async () => {
  await using served = await serve();
  await served.core.create(draft("a"));
  const reply = await served.channel.rawCall(path("Get"), writeGetRequest(ref("a")));
  deepStrictEqual([...reply.slice(-2)], [0x12, 0]);
  const { resource } = fromBinary(GetResponseSchema, reply);
  strictEqual(resource?.metadata?.version, "1");
  strictEqual(resource.metadata.phase, "running");
});

Deno.test("createStateService() answers malformed bodies with INVALID_ARGUMENT", async () => {
  await using served = await serve();
  const good = writeWriteRequest(draft("a", "spec"), 1, {});
  const bodies = [
    Uint8Array.of(0xff),
    Uint8Array.of(0x0a, 0x05, 1),
    Uint8Array.of(0x0a, 0x01, 0xff), // Not UTF-8.
    Uint8Array.of(0x07),
    new Uint8Array(20).fill(0xff),
    good.slice(0, good.length - 3),
  ];
  const methods = ["Get", "List", "Create", "Update", "Destroy", "Teardown", "Watch"];
  for (const method of [...methods, "TeardownAndDestroy"]) {
    for (const [index, body] of bodies.entries()) {
      if (method === "List" || method === "Watch") {
        const stream = served.channel.rawStream(path(method));
        void stream.send(body);
        stream.end();
        // A field that the method does not know is skipped, and its watch stands.
        if (index === bodies.length - 1) stream.cancel();
        else await rejects(stream.messages.next(), { code: "invalidArgument" });
      } else if (index < bodies.length - 1 || ["Create", "Update"].includes(method)) {
        await rejects(served.channel.rawCall(path(method), body), { code: "invalidArgument" });
      }
    }
  }
  await served.channel.rawCall(path("Create"), good);
});

Deno.test("createStateService() never fails on random bytes", async () => {
  await using served = await serve();
  const seed = 42;
  let random = seed;
  const next = (): number => random = (random * 1103515245 + 12345) % 2147483648;
  const template = writeWriteRequest(draft("a", "spec", { labels: { a: "b" } }), 1, {});
  for (let i = 0; i < 500; i++) {
    const body = template.slice();
    for (let flips = 0; flips < 3; flips++) body[next() % body.length] = next() % 256;
    await served.channel.rawCall(path("Create"), body).catch((error) => {
      ok(error instanceof CodedError, `seed ${seed}, round ${i}: ${error}`);
      ok(["invalidArgument", "alreadyExists", "permissionDenied"].includes(error.code), error.code);
    });
  }
});

Deno.test("createStateService() refuses names beyond the limits", async () => {
  await using served = await serve({ limits: { nameLength: 10, labelLength: 10, entries: 2 } });
  const state = createRemoteState(served.channel);
  const cases = [
    draft("x".repeat(11)),
    draft(""),
    draft("a", "", { labels: { a: "x".repeat(11) } }),
    draft("a", "", { labels: { ["x".repeat(11)]: "" } }),
    draft("a", "", { labels: { a: "", b: "", c: "" } }),
    draft("a", "", { finalizers: ["x".repeat(11)] }),
    draft("a", "", { finalizers: ["a", "b", "c"] }),
  ];
  for (const each of cases) await rejects(state.create(each), { code: "invalidArgument" });
  await state.create(draft("x".repeat(10)));
  const long = ref("x".repeat(11));
  await rejects(state.get(long), { code: "invalidArgument" });
  await rejects(state.teardown(long), { code: "invalidArgument" });
  await rejects(state.destroy(long), { code: "invalidArgument" });
  await rejects(state.teardownAndDestroy(long), { code: "invalidArgument" });
});

Deno.test("createStateService() limits the watches of a connection", async () => {
  await using served = await serve({ limits: { watchesPerConnection: 2 } });
  const state = createRemoteState(served.channel);
  const end = new AbortController();
  const watches = [
    await state.watchKind(KIND, { signal: end.signal }),
    await state.watchKind(KIND, { signal: end.signal }),
  ];
  await rejects(state.watchKind(KIND, { signal: end.signal }), { code: "resourceExhausted" });
  end.abort();
  for (const watch of watches) for await (const _ of watch);
  await eventually(() => served.core.watchCount() === 0);
  const last = new AbortController();
  await state.watchKind(KIND, { signal: last.signal });
  last.abort();
});

Deno.test("createStateService() releases the watch of a client that vanishes", async () => {
  await using served = await serve();
  const state = createRemoteState(served.channel);
  const { signal } = new AbortController();
  await state.watchKind(KIND, { signal });
  await state.watch(ref("a"), { signal });
  strictEqual(served.core.watchCount(), 2);
  served.channel.close();
  await eventually(() => served.core.watchCount() === 0);
});

Deno.test("createStateService() cuts a client that stops reading, and only that one", async () => {
  await using served = await serve({}, { events: 200, bytes: 1 << 20 });
  const stream = served.channel.rawStream(path("Watch"));
  void stream.send(writeWatchRequest(KIND, {}));
  stream.end();
  // The first message says that the watch stands; nothing is read after it.
  await stream.messages.next();
  let resource = await served.core.create(draft("a", "x".repeat(10_000)));
  let updates = 0;
  while (served.core.watchCount() > 0) {
    resource = await served.core.update(changed(resource));
    if (++updates > 20_000) throw new Error("The watch is still open");
    if (updates % 50 === 0) await turn();
  }
  let last: Uint8Array | undefined;
  const reading = (async () => {
    for await (const message of stream.messages) last = message;
  })();
  await rejects(reading, { code: "resourceExhausted" });
  const [event] = fromBinary(WatchResponseSchema, last ?? new Uint8Array()).event;
  match(event?.error ?? "", /overrun/);
});

Deno.test("createStateService() asks the policy before everything", async () => {
  const asked: string[] = [];
  await using served = await serve({
    policy: {
      check(verb, { type, id = "" }, { remoteAddress }, given) {
        asked.push(`${verb} ${type} ${id} ${remoteAddress} ${given === undefined ? "" : "draft"}`);
        if (id === "forbidden" || verb === "watch") {
          throw new CodedError("permissionDenied", "Not available over the API");
        }
      },
    },
  });
  const state = createRemoteState(served.channel);
  await state.create(draft("a"));
  await rejects(state.create(draft("forbidden")), { code: "ownerConflict" });
  await rejects(state.get(ref("forbidden")), { code: "permissionDenied" });
  await state.list(KIND);
  await state.teardownAndDestroy(ref("a"));
  const { signal } = new AbortController();
  await rejects(state.watchKind(KIND, { signal }), { code: "permissionDenied" });
  deepStrictEqual(asked.map((line) => line.trim()), [
    "create test/thing a 127.0.0.1 draft",
    "create test/thing forbidden 127.0.0.1 draft",
    "get test/thing forbidden 127.0.0.1",
    "list test/thing  127.0.0.1",
    "teardown test/thing a 127.0.0.1",
    "destroy test/thing a 127.0.0.1",
    "watch test/thing  127.0.0.1",
  ]);
});

Deno.test("createStateService() fills in the YAML of declared types once for a version", async () => {
  let made = 0;
  await using served = await serve({
    isDeclared: (type) => type === KIND.type,
    yamlSpecOf: ({ metadata }) => metadata.type === KIND.type ? `made: ${++made}\n` : undefined,
  });
  const state = createRemoteState(served.channel);
  await state.create({ ...draft("a", "spec"), yamlSpec: "from: client\n" });
  await state.create({ ...draft("b", "", { type: "test/other" }), yamlSpec: "from: client\n" });
  strictEqual(served.core.peek(ref("a"))?.yamlSpec, "");
  for (let i = 0; i < 3; i++) strictEqual((await state.get(ref("a"))).yamlSpec, "made: 1\n");
  strictEqual((await state.list(KIND))[0]?.yamlSpec, "made: 1\n");
  const other = await state.get({ ...ref("b"), type: "test/other" });
  strictEqual(other.yamlSpec, "from: client\n");
});

Deno.test("createStateService() drops what clients without an API version do not know", async () => {
  await using served = await serve();
  const request = writeWatchRequest(KIND, { bootstrapContents: true });
  // The last field is the API version 1; it becomes 0.
  request[request.length - 1] = 0;
  await served.core.create(draft("a"));
  const stream = served.channel.rawStream(path("Watch"));
  void stream.send(request);
  stream.end();
  const responses = [];
  for (let i = 0; i < 2; i++) {
    const { value } = await stream.messages.next();
    if (value !== undefined) responses.push(fromBinary(WatchResponseSchema, value));
  }
  stream.cancel();
  deepStrictEqual(responses.map(({ event }) => event.length), [0, 1]);
});

Deno.test("createStateService() ends the watch of a fault and leaves the others alone", async () => {
  await using served = await serve({
    yamlSpecOf: ({ metadata }) => {
      if (metadata.id === "bad") throw new Error("A fault of ours");
      return undefined;
    },
  });
  const state = createRemoteState(served.channel);
  const { signal } = new AbortController();
  const bad = served.channel.rawStream(path("Watch"));
  void bad.send(writeWatchRequest(ref("bad"), {}));
  bad.end();
  const good = await state.watch(ref("good"), { signal });
  await rejects(async () => {
    for await (const _ of bad.messages);
  }, { code: "internal", message: "internal error" });
  await served.core.create(draft("good"));
  const seen: string[] = [];
  for await (const events of good) {
    seen.push(...events.map(({ type }) => type));
    if (seen.length === 2) break;
  }
  deepStrictEqual(seen, ["destroyed", "created"]);
});
