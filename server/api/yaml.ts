// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The text form of stored resources, as the state service asks for it.
 *
 * @module
 */

import { fromBinary } from "@bufbuild/protobuf";
import type { ResourceType } from "../../cosi/resource.ts";
import type { RawResource } from "../../cosi/state/raw_resource.ts";
import { TALOS_MIRROR_NAMESPACE } from "../../resources/namespaces.ts";
import { type Decompress, encodeYamlSpec } from "../../resources/yaml_spec.ts";

/**
 * Returns a function that gives the text of a resource's spec, or `undefined` for what keeps the text
 * that came with it: a type outside the catalogue, and a copy of a machine's resource.
 */
export function createYamlSpecOf(
  types: readonly ResourceType[],
  decompress?: Decompress,
): (resource: RawResource) => string | undefined {
  const schemas = new Map(types.map(({ type, schema }) => [type, schema]));
  return ({ metadata, protoSpec, yamlSpec }) => {
    const schema = schemas.get(metadata.type);
    const isCopy = metadata.namespace === TALOS_MIRROR_NAMESPACE && yamlSpec !== "";
    // A tombstone has no spec; its version says so.
    if (schema === undefined || isCopy || metadata.version === 0) return undefined;
    // Decoded for this one time: the message is not kept, the text is.
    return encodeYamlSpec(schema, fromBinary(schema, protoSpec), decompress);
  };
}
