// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A stored resource: metadata and opaque spec, with everything derived from them computed once.
 *
 * @module
 */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { Metadata } from "../resource.ts";

/** One version of one resource. Immutable; shared by all readers and watchers. */
export class RawResource {
  readonly metadata: Metadata;
  /** The spec as bytes of the wire, as received or encoded once; opaque for undeclared types. */
  readonly protoSpec: Uint8Array;
  /** Text that came with an undeclared type; empty otherwise. */
  readonly yamlSpec: string;
  #decoded: unknown;

  constructor(metadata: Metadata, protoSpec: Uint8Array, yamlSpec = "") {
    this.metadata = metadata;
    this.protoSpec = protoSpec;
    this.yamlSpec = yamlSpec;
  }

  /** The spec as a message, decoded at the first call. A kind has one schema, so one slot serves. */
  decode<S extends DescMessage>(schema: S): MessageShape<S> {
    this.#decoded ??= fromBinary(schema, this.protoSpec);
    return this.#decoded as MessageShape<S>;
  }
}
