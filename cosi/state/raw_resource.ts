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
  /**
   * The resource as field 1 of a message, which is how every reply and every event carries it. The
   * spec is a part of it, so that no byte is kept twice.
   */
  readonly message: Uint8Array;
  readonly #start: number;
  readonly #specStart: number;
  readonly #specEnd: number;
  #decoded: unknown;

  /** The bytes of the spec are copied, unless they come encoded with all the rest. */
  constructor(metadata: Metadata, protoSpec: Uint8Array, yamlSpec = "", encoded?: ResourceWire) {
    const wire = encoded ?? encodeResource(metadata, protoSpec, yamlSpec);
    this.metadata = metadata;
    this.yamlSpec = yamlSpec;
    this.message = wire.message;
    this.#start = wire.start;
    this.#specStart = wire.specStart;
    this.#specEnd = wire.specEnd;
  }

  /** Takes over a message that holds a resource as its field 1, and nothing else. */
  static fromMessage(message: Uint8Array): RawResource {
    const reader = new ProtoReader(message);
    reader.tag();
    reader.enter();
    const start = reader.at;
    const { metadata, yamlSpec, specStart, specEnd } = readResource(reader);
    const encoded = { message, start, specStart, specEnd };
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

  /** The resource in wire form. */
  get wire(): Uint8Array {
    return this.message.subarray(this.#start);
  }

  /** The spec as bytes of the wire, as received or encoded once; opaque for undeclared types. */
  get protoSpec(): Uint8Array {
    return this.message.subarray(this.#specStart, this.#specEnd);
  }

  /** The spec as a message, decoded at the first call. A kind has one schema, so one slot serves. */
  decode<S extends DescMessage>(schema: S): MessageShape<S> {
    this.#decoded ??= fromBinary(schema, this.protoSpec);
    return this.#decoded as MessageShape<S>;
  }
}
