// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A stored resource: metadata and opaque spec, with everything derived from them computed once.
 *
 * @module
 */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Metadata } from "../resource.ts";
import { ProtoReader } from "./proto_bytes.ts";
import { readResource } from "./resource_reader.ts";
import { encodeResource, messageOf, type ResourceWire } from "./resource_wire.ts";
import { tombstoneMetadata } from "./tombstone.ts";

const NOTHING = new Uint8Array(0);

/** One version of one resource. Immutable; shared by all readers and watchers. */
export class RawResource {
  readonly metadata: Metadata;
  /** Text that came with an undeclared type; empty otherwise. */
  readonly yamlSpec: string;
  /** Where the message is; a view on it for each of very many resources would cost more than this. */
  readonly #memory: Uint8Array;
  readonly #messageStart: number;
  readonly #messageEnd: number;
  readonly #start: number;
  readonly #specStart: number;
  readonly #specEnd: number;
  #decoded: unknown;

  /** The bytes of the spec are copied, unless they come encoded with all the rest. */
  constructor(metadata: Metadata, protoSpec: Uint8Array, yamlSpec = "", encoded?: ResourceWire) {
    const wire = encoded ?? encodeResource(metadata, protoSpec, yamlSpec);
    this.metadata = metadata;
    this.yamlSpec = yamlSpec;
    this.#memory = wire.memory;
    this.#messageStart = wire.messageStart;
    this.#messageEnd = wire.messageEnd;
    this.#start = wire.start;
    this.#specStart = wire.specStart;
    this.#specEnd = wire.specEnd;
  }

  /** Takes over memory with a message that holds a resource as its field 1, and nothing else. */
  static fromMessage(
    memory: Uint8Array,
    messageStart = 0,
    messageEnd: number = memory.length,
  ): RawResource {
    const reader = new ProtoReader(memory, messageStart, messageEnd);
    reader.tag();
    reader.enter();
    const start = reader.at;
    const { metadata, yamlSpec, specStart, specEnd } = readResource(reader);
    const encoded = { memory, messageStart, messageEnd, start, specStart, specEnd };
    return new RawResource(metadata, NOTHING, yamlSpec, encoded);
  }

  /** Reads the wire form of a resource; throws `invalidArgument` for what is none. */
  static fromWire(wire: Uint8Array): RawResource {
    return RawResource.fromMessage(messageOf(wire));
  }

  /** A resource that is not there, as some events carry it. */
  static tombstone(namespace: string, type: string, id: string): RawResource {
    return new RawResource(tombstoneMetadata(namespace, type, id), NOTHING);
  }

  /**
   * The resource as field 1 of a message, which is how every reply and every event carries it. The
   * spec is a part of it, so that no byte is kept twice.
   */
  get message(): Uint8Array {
    const isWhole = this.messageSize === this.#memory.length;
    return isWhole ? this.#memory : this.#memory.subarray(this.#messageStart, this.#messageEnd);
  }

  /** The size of {@linkcode message} in bytes. */
  get messageSize(): number {
    return this.#messageEnd - this.#messageStart;
  }

  /** The resource in wire form. */
  get wire(): Uint8Array {
    return this.#memory.subarray(this.#start, this.#messageEnd);
  }

  /** The spec as bytes of the wire, as received or encoded once; opaque for undeclared types. */
  get protoSpec(): Uint8Array {
    return this.#memory.subarray(this.#specStart, this.#specEnd);
  }

  /** The spec as a message, decoded at the first call. A kind has one schema, so one slot serves. */
  decode<S extends DescMessage>(schema: S): MessageShape<S> {
    this.#decoded ??= fromBinary(schema, this.protoSpec);
    return this.#decoded as MessageShape<S>;
  }
}
