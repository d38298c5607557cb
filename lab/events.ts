// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The events of a machine: queued, sent one at a time, and sent again until acknowledged.
 *
 * @module
 */

import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { type EventRequest, EventRequestSchema } from "../proto/gen/siderolink/events_pb.ts";
import { createSignal } from "./signal.ts";

/** Holds the events of one boot that the server has not acknowledged. */
export interface EventQueue {
  /** Adds an event and returns its ID. */
  push<S extends DescMessage>(schema: S, event: MessageShape<S>, actorId?: string): string;
  /** The oldest event that is not acknowledged; waits for one. */
  next(signal: AbortSignal): Promise<EventRequest>;
  acknowledge(id: string): void;
  /** Events that wait. */
  size(): number;
}

/** What a real machine keeps for a sink that does not answer. */
const CAPACITY = 1000;

/** Creates an empty queue. */
export function createEventQueue(nextId: () => string): EventQueue {
  const pending: EventRequest[] = [];
  const changed = createSignal();
  return {
    push: (schema, event, actorId = "") => {
      const id = nextId();
      pending.push(create(EventRequestSchema, {
        data: create(AnySchema, {
          typeUrl: `type.googleapis.com/${schema.typeName}`,
          value: toBinary(schema, event),
        }),
        id,
        actorId,
      }));
      if (pending.length > CAPACITY) pending.shift();
      changed.fire();
      return id;
    },
    next: async (signal) => {
      await changed.until(() => pending.length > 0, signal);
      const [first] = pending;
      if (first === undefined) throw new TypeError("an event queue must not be read twice at once");
      return first;
    },
    acknowledge: (id) => {
      if (pending[0]?.id === id) pending.shift();
    },
    size: () => pending.length,
  };
}

const XID_DIGITS = "0123456789abcdefghijklmnopqrstuv";

/**
 * Makes IDs in the form of xid: 20 characters of base32hex over seconds, a random part of the
 * process and a counter, so that they sort by time.
 */
export function createXids(nowMs: () => number): () => string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  const view = new DataView(bytes.buffer);
  let counter = view.getUint32(8) & 0xffffff;
  return () => {
    view.setUint32(0, Math.floor(nowMs() / 1000));
    counter = (counter + 1) & 0xffffff;
    view.setUint8(9, counter >> 16);
    view.setUint16(10, counter & 0xffff);
    let text = "";
    for (let bit = 0; bit < 100; bit += 5) {
      const byte = bit >> 3;
      const pair = ((bytes[byte] ?? 0) << 8) | (bytes[byte + 1] ?? 0);
      text += XID_DIGITS[(pair >> (11 - (bit & 7))) & 31];
    }
    return text;
  };
}
