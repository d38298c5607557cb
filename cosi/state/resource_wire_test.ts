// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  EventType,
  ResourceSchema,
  WatchResponseSchema,
} from "../../proto/gen/cosi/resource_pb.ts";
import type { Metadata } from "../resource.ts";
import { decodeEvents, encodeEvent } from "./event_wire.ts";
import { RawResource } from "./raw_resource.ts";
import { tombstoneMetadata } from "./tombstone.ts";

/** A sequence of numbers that a seed replays. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % below;
  };
}

const TEXTS = ["", "a", "label", "é", "\u{1F600}\u{D7FF}", "x".repeat(127), "x".repeat(128)];
const LONG = ["y".repeat(5000), "ü".repeat(300), "\0\x7f\x80"];

function randomMetadata(next: (below: number) => number): Metadata {
  const text = (): string => {
    const texts = next(10) === 0 ? LONG : TEXTS;
    return texts[next(texts.length)] ?? "";
  };
  const record = (): Record<string, string> =>
    Object.fromEntries(Array.from({ length: next(4) }, (_, i) => [`${i}${text()}`, text()]));
  const instant = () =>
    next(3) === 0
      ? undefined
      : { seconds: BigInt(next(2) === 0 ? -next(1000) : next(2 ** 31)), nanos: next(1e9) };
  return {
    namespace: text(),
    type: text(),
    id: text(),
    version: next(5) === 0 ? 0 : next(2 ** 31) * 1000,
    owner: text(),
    phase: next(2) === 0 ? "running" : "tearingDown",
    created: instant(),
    updated: instant(),
    finalizers: Array.from({ length: next(3) }, text),
    labels: record(),
    annotations: record(),
  };
}

/** The same resource as the message library sees it. */
function asMessage(metadata: Metadata, protoSpec: Uint8Array, yamlSpec: string) {
  const { version, created, updated, finalizers, ...rest } = metadata;
  return create(ResourceSchema, {
    metadata: {
      ...rest,
      version: version === 0 ? "undefined" : String(version),
      ...(created === undefined ? {} : { created }),
      ...(updated === undefined ? {} : { updated }),
      finalizers: [...finalizers],
    },
    spec: { protoSpec, yamlSpec },
  });
}

Deno.test("RawResource writes and reads what the message library does", () => {
  const seed = Date.now() % 1_000_000;
  const next = chance(seed);
  for (let round = 0; round < 500; round++) {
    const where = `seed ${seed}, round ${round}`;
    const metadata = randomMetadata(next);
    const protoSpec = crypto.getRandomValues(new Uint8Array(next(300)));
    const yamlSpec = TEXTS[next(TEXTS.length)] ?? "";
    const message = asMessage(metadata, protoSpec, yamlSpec);
    const resource = new RawResource(metadata, protoSpec, yamlSpec);
    deepStrictEqual(fromBinary(ResourceSchema, resource.wire), message, where);
    deepStrictEqual(resource.protoSpec.toHex(), protoSpec.toHex(), where);
    const again = RawResource.fromWire(toBinary(ResourceSchema, message));
    deepStrictEqual(again.metadata, metadata, where);
    strictEqual(again.protoSpec.toHex(), protoSpec.toHex(), where);
    strictEqual(again.yamlSpec, yamlSpec, where);
  }
});

Deno.test("RawResource skips fields that it does not know", () => {
  const { wire } = new RawResource(tombstoneMetadata("a", "b", "c"), Uint8Array.of(1));
  const unknown = Uint8Array.of(0x9a, 0x06, 1, 7, 0x98, 0x06, 3, 0x9d, 0x06, 1, 2, 3, 4);
  const resource = RawResource.fromWire(Uint8Array.of(...unknown, ...wire, ...unknown));
  deepStrictEqual(resource.metadata, tombstoneMetadata("a", "b", "c"));
  deepStrictEqual([...resource.protoSpec], [1]);
});

Deno.test("RawResource refuses bytes that are no resource", () => {
  const good = new RawResource(tombstoneMetadata("a", "b", "c"), Uint8Array.of(1)).wire;
  const broken = (text: string, by: string): Uint8Array => {
    const bytes = good.slice();
    bytes.set(new TextEncoder().encode(by), new TextDecoder().decode(good).indexOf(text));
    return bytes;
  };
  const cases = [
    new Uint8Array(0),
    good.slice(0, -1),
    good.slice(0, 10),
    broken("undefined", "undefinex"),
    broken("undefined", "-12345678"),
    broken("running", "unknown"),
    Uint8Array.of(0x0b),
    Uint8Array.of(0x12, 0),
    new Uint8Array(30).fill(0x80),
  ];
  for (const bytes of cases) throws(() => RawResource.fromWire(bytes), { code: "invalidArgument" });
});

Deno.test("encodeEvent() writes every kind of event, several of them by concatenation", () => {
  const resource = new RawResource(tombstoneMetadata("n", "t", "a"), Uint8Array.of(1));
  const old = new RawResource(tombstoneMetadata("n", "t", "b"), Uint8Array.of(2));
  const bookmark = Uint8Array.of(1, 2, 3);
  const none = { old: undefined, bookmark: undefined, error: undefined };
  const events = [
    { ...none, type: "created", resource: resource.message },
    { ...none, type: "updated", resource: resource.message, old: old.message, bookmark },
    { ...none, type: "destroyed", resource: resource.message, bookmark },
    { ...none, type: "bootstrapped", resource: resource.message },
    { ...none, type: "noop", resource: resource.message },
    { ...none, type: "errored", resource: resource.message, error: "" },
    { ...none, type: "errored", resource: resource.message, error: "é".repeat(100) },
  ] as const;
  const wires = events.map(encodeEvent);
  const whole = Uint8Array.from(wires.flatMap((wire) => [...wire]));
  const { event } = fromBinary(WatchResponseSchema, whole);
  deepStrictEqual(event.map(({ eventType }) => eventType), [
    EventType.CREATED,
    EventType.UPDATED,
    EventType.DESTROYED,
    EventType.BOOTSTRAPPED,
    EventType.NOOP,
    EventType.ERRORED,
    EventType.ERRORED,
  ]);
  deepStrictEqual(event.map(({ old }) => old?.metadata?.id), [
    undefined,
    "b",
    ...new Array(5).fill(undefined),
  ]);
  deepStrictEqual(event.map(({ bookmark }) => bookmark?.length), [
    undefined,
    3,
    3,
    ...new Array(4).fill(undefined),
  ]);
  deepStrictEqual(event.map(({ error }) => error?.length), [
    ...new Array(5).fill(undefined),
    0,
    100,
  ]);
  const decoded = decodeEvents(whole);
  deepStrictEqual(decoded.map(({ type }) => type), events.map(({ type }) => type));
  deepStrictEqual(decoded[1]?.old?.metadata, old.metadata);
  deepStrictEqual(decoded[1]?.bookmark, bookmark);
});
