// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A stored resource: metadata and opaque spec, with everything derived from them computed once.
 *
 * @module
 */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Metadata } from "../resource.ts";
import {
  decodeResource,
  encodeResource,
  type Intern,
  type ParsedResource,
  tombstoneMetadata,
} from "./resource_wire.ts";

/** One version of one resource. Immutable; shared by all readers and watchers. */
export class RawResource {
  readonly metadata: Metadata;
  /** Text that came with an undeclared type; empty otherwise. */
  readonly yamlSpec: string;
  /** The whole resource in wire form; the spec is a part of it, so that no byte is kept twice. */
  readonly wire: Uint8Array;
  readonly #specStart: number;
  readonly #specEnd: number;
  #decoded: unknown;

  /** The bytes of the spec are copied. */
  constructor(metadata: Metadata, protoSpec: Uint8Array, yamlSpec = "", parsed?: ParsedResource) {
    const { wire, specStart, specEnd } = parsed ?? encodeResource(metadata, protoSpec, yamlSpec);
    this.metadata = metadata;
    this.yamlSpec = yamlSpec;
    this.wire = wire;
    this.#specStart = specStart;
    this.#specEnd = specEnd;
  }

  /** Takes over bytes in wire form; throws `invalidArgument` for what is no resource. */
  static fromWire(wire: Uint8Array, intern?: Intern): RawResource {
    const parsed = decodeResource(wire, intern);
    return new RawResource(parsed.metadata, NOTHING, parsed.yamlSpec, parsed);
  }

  /** A resource that is not there, as some events carry it. */
  static tombstone(namespace: string, type: string, id: string): RawResource {
    return new RawResource(tombstoneMetadata(namespace, type, id), NOTHING);
  }

  /** The spec as bytes of the wire, as received or encoded once; opaque for undeclared types. */
  get protoSpec(): Uint8Array {
    return this.wire.subarray(this.#specStart, this.#specEnd);
  }

  /** The spec as a message, decoded at the first call. A kind has one schema, so one slot serves. */
  decode<S extends DescMessage>(schema: S): MessageShape<S> {
    this.#decoded ??= fromBinary(schema, this.protoSpec);
    return this.#decoded as MessageShape<S>;
  }
}

const NOTHING = new Uint8Array(0);
