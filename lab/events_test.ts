// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { create } from "@bufbuild/protobuf";
import { PhaseEventSchema } from "../proto/gen/talos/machine_pb.ts";
import { createEventQueue, createXids } from "./events.ts";

Deno.test("createXids() makes unique IDs of 20 digits that sort by time", () => {
  let now = 1_700_000_000_000;
  const next = createXids(() => now);
  const ids = Array.from({ length: 100 }, () => next());
  assert.equal(new Set(ids).size, 100);
  for (const id of ids) assert.match(id, /^[0-9a-v]{20}$/);
  now += 1_000;
  assert.ok(next() > (ids.at(-1) ?? ""));
});

Deno.test("createXids() writes seconds into the first digits", () => {
  const id = createXids(() => 0x4d88e15b * 1000)();
  // The time of the example in xid's own description: 9m4e2mr0ui3e8a215n4g.
  assert.equal(id.slice(0, 6), "9m4e2m");
});

Deno.test("createEventQueue() gives the same event until it is acknowledged", async () => {
  let count = 0;
  const queue = createEventQueue(() => `id${++count}`);
  const { signal } = new AbortController();
  const waiting = queue.next(signal);
  queue.push(PhaseEventSchema, create(PhaseEventSchema, { phase: "install" }), "actor");
  queue.push(PhaseEventSchema, create(PhaseEventSchema, { phase: "boot" }));
  const first = await waiting;
  assert.equal(first.id, "id1");
  assert.equal(first.actorId, "actor");
  assert.equal(first.data?.typeUrl, "type.googleapis.com/machine.PhaseEvent");
  assert.equal((await queue.next(signal)).id, "id1");
  queue.acknowledge("id1");
  queue.acknowledge("id1");
  assert.equal((await queue.next(signal)).id, "id2");
  assert.equal(queue.size(), 1);
});
