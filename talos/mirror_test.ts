// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { codeOf } from "../base/errors.ts";
import {
  EventSchema,
  EventType,
  ListResponseSchema,
  MetadataSchema,
  ResourceSchema,
  WatchResponseSchema,
} from "../proto/gen/cosi/resource_pb.ts";
import { type MirrorEvent, mirrorMachine } from "./mirror.ts";

type StateClient = Parameters<typeof mirrorMachine>[0];

const KIND = { namespace: "runtime", type: "Things.talos.dev" };

function resourceOf(type: string, id: string) {
  return create(ResourceSchema, { metadata: create(MetadataSchema, { ...KIND, type, id }) });
}

/** A machine with one kind, whose watch tells what it is given. */
function machineWith(
  watch: (signal: AbortSignal) => AsyncGenerator<{ type: EventType; id: string }>,
): StateClient {
  return {
    list: async function* () {
      yield create(ListResponseSchema, { resource: resourceOf("x", "things.talos.dev") });
    },
    watch: async function* (_request: unknown, { signal }: { signal: AbortSignal }) {
      for await (const { type, id } of watch(signal)) {
        const event = create(EventSchema, {
          eventType: type,
          resource: resourceOf(KIND.type, id),
        });
        yield create(WatchResponseSchema, { event: [event] });
      }
    },
  } as unknown as StateClient;
}

Deno.test("mirrorMachine() does not read on while nobody takes what was read", async () => {
  const stop = new AbortController();
  let told = 0;
  const machine = machineWith(async function* (signal) {
    yield { type: EventType.BOOTSTRAPPED, id: "" };
    while (!signal.aborted) yield { type: EventType.UPDATED, id: String(told++) };
  });
  const mirror = mirrorMachine(machine, [KIND], stop.signal);
  const seen: MirrorEvent[] = [];
  seen.push(...(await mirror.next()).value ?? []);
  for (let turn = 0; turn < 50_000; turn++) await Promise.resolve();
  strictEqual(told <= 2_000, true);
  while (seen.length < 5_000) seen.push(...(await mirror.next()).value ?? []);
  stop.abort();
  await mirror.return(undefined);
  deepStrictEqual(seen.slice(0, 2).map(({ kind }) => kind), ["snapshot", "complete"]);
});

Deno.test("mirrorMachine() gives up a machine that lists without end", async () => {
  const machine = machineWith(async function* (signal) {
    for (let number = 0; !signal.aborted; number++) {
      yield { type: EventType.CREATED, id: String(number) };
    }
  });
  const mirror = mirrorMachine(machine, [KIND], new AbortController().signal);
  await rejects(mirror.next(), (error) => codeOf(error) === "resourceExhausted");
});
