// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Damaged messages of machines: requests to join, events, kernel logs, and packets over gRPC.
 *
 * @module
 */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import assert from "node:assert/strict";
import { CodedError } from "../base/errors.ts";
import { redactParameters } from "../base/redact.ts";
import { EventRequestSchema } from "../proto/gen/siderolink/events_pb.ts";
import { PeerPacketSchema, ProvisionRequestSchema } from "../proto/gen/siderolink/link_pb.ts";
import { MachineStatusEventSchema } from "../proto/gen/talos/machine_pb.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { statusOf } from "./events.ts";
import { generateKey } from "./keys.ts";
import { readLines } from "./kmsg.ts";
import { createPacketRoutes } from "./packet_streams.ts";
import { readJoinRequest } from "./provision.ts";
import { damaged, feed, INPUTS, type Random, randomOf, SEED } from "./testing_fuzz.ts";

/** A message as its parser gives it, or `undefined` when the bytes are none. */
function parsed<T>(parse: () => T): T | undefined {
  try {
    return parse();
  } catch {
    // The library refuses in its own words, which the transport turns into a status.
    return undefined;
  }
}

Deno.test(`readJoinRequest() takes or refuses any request (seed ${SEED})`, async () => {
  const random = randomOf(SEED);
  const { publicKey } = generateKey();
  const valid = toBinary(
    ProvisionRequestSchema,
    create(ProvisionRequestSchema, {
      nodeUuid: "10001802-c798-4da7-a410-f09abb48c8d8",
      nodePublicKey: publicKey,
      joinToken: "v1:eyJleHRyYV9kYXRhIjp7fSwic2lnbmF0dXJlIjoiIn0=",
      nodeUniqueToken: '{"Fingerprint":"00","Token":"x"}',
      talosVersion: "v1.12.10",
      wireguardOverGrpc: true,
    }),
  );
  let accepted = 0;
  let refused = 0;
  await feed(INPUTS, () => {
    const bytes = damaged(valid, random);
    const request = parsed(() => fromBinary(ProvisionRequestSchema, bytes));
    if (request === undefined) return;
    try {
      const { machineId, publicKey } = readJoinRequest(request, "192.0.2.1");
      assert.match(machineId, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.match(publicKey, /^[A-Za-z0-9+/]{43}=$/);
      accepted++;
    } catch (error) {
      assert.ok(error instanceof CodedError && error.code === "invalidArgument", String(error));
      refused++;
    }
  });
  assert.ok(accepted > 0 && refused > 0);
});

Deno.test(`statusOf() takes any event (seed ${SEED})`, async () => {
  const random = randomOf(SEED);
  const status = create(MachineStatusEventSchema, {
    stage: 4,
    status: { ready: true, unmetConditions: [{ name: "time", reason: "not in sync" }] },
  });
  const valid = toBinary(
    EventRequestSchema,
    create(EventRequestSchema, {
      id: "9m4e2mr0ui3e8a215n4g",
      actorId: "a",
      data: anyPack(MachineStatusEventSchema, status),
    }),
  );
  let found = 0;
  await feed(INPUTS, () => {
    const request = parsed(() => fromBinary(EventRequestSchema, damaged(valid, random)));
    const { typeUrl = "", value = new Uint8Array() } = request?.data ?? {};
    if (statusOf({ id: request?.id ?? "", typeUrl, value }) !== undefined) found++;
  });
  assert.ok(found > 0);
});

/** A stream of a kernel log in pieces of any length. */
function logStream(random: Random, pieces: number): ByteStream {
  const text = new TextEncoder().encode(
    '{"msg":"kernel: x talos.config=http://a/?jointoken=secret\\n","talos-level":"info"}\n',
  );
  return {
    read: (buffer) => {
      if (pieces-- <= 0) return Promise.resolve(null);
      const piece = random.below(8) === 0 ? random.bytes(random.below(300)) : damaged(text, random);
      const count = Math.min(piece.length, buffer.length);
      buffer.set(piece.subarray(0, count));
      return Promise.resolve(count);
    },
    write: (data) => Promise.resolve(data.length),
    closeWrite: () => Promise.resolve(),
    close: () => {},
  };
}

Deno.test(`readLines() splits any stream into lines below the limit (seed ${SEED})`, async () => {
  const random = randomOf(SEED);
  const limit = 1000;
  const pieces = 100;
  let lines = 0;
  let broken = 0;
  await feed(INPUTS / pieces, async () => {
    try {
      for await (const line of readLines(logStream(random, pieces), limit)) {
        assert.ok(line !== "" && line.length <= limit && !line.includes("\n"));
        assert.ok(!redactParameters(line).includes("?jointoken=secret"));
        lines++;
      }
    } catch (error) {
      assert.match(String(error), /longer than the limit/);
      broken++;
    }
  });
  assert.ok(lines > 0, `${lines} lines, ${broken} streams with one that was too long`);
});

Deno.test(`packets over gRPC reach the device as they are, or not at all (seed ${SEED})`, async () => {
  const random = randomOf(SEED);
  const received: Uint8Array[] = [];
  const routes = createPacketRoutes((packet) => void received.push(packet));
  const way = routes.attach("[fdae:41e4:649b:9304::5]:50888", { send: () => {}, end: () => {} });
  await feed(INPUTS, () => {
    const data = random.bytes(random.below(200));
    const valid = toBinary(PeerPacketSchema, create(PeerPacketSchema, { Data: data }));
    const isIntact = random.below(2) === 0;
    const bytes = isIntact ? valid : damaged(valid, random);
    const packet = parsed(() => fromBinary(PeerPacketSchema, bytes));
    if (packet !== undefined) way.receive(packet.Data);
    const [got] = received.splice(0);
    if (isIntact) assert.deepEqual(got, data);
  });
  routes.close();
});
