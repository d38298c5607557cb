// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The text form of stored resources, made once for each version and shared by all readers.
 *
 * @module
 */

import type { ResourceType } from "../../cosi/resource.ts";
import type { RawResource } from "../../cosi/state/raw_resource.ts";
import { TALOS_MIRROR_NAMESPACE } from "../../resources/namespaces.ts";
import { type Decompress, encodeYamlSpec } from "../../resources/yaml_spec.ts";

/**
 * Returns a function that gives the text of a resource's spec. A type outside the catalogue, and a
 * copy of a machine's resource, keep the text that came with them.
 */
export function createYamlSpecOf(
  types: readonly ResourceType[],
  decompress?: Decompress,
): (resource: RawResource) => string {
  const declared = new Map(types.map((type) => [type.type, type]));
  // Versions are immutable, so that the text lives exactly as long as its version does.
  const texts = new WeakMap<RawResource, string>();
  return (resource) => {
    const { metadata, yamlSpec } = resource;
    const type = declared.get(metadata.type);
    const isCopy = metadata.namespace === TALOS_MIRROR_NAMESPACE && yamlSpec !== "";
    if (type === undefined || isCopy) return yamlSpec;
    // A tombstone has no spec, and its version says so.
    if (metadata.version === 0) return "";
    const known = texts.get(resource);
    if (known !== undefined) return known;
    const text = encodeYamlSpec(type.schema, resource.decode(type.schema), decompress);
    texts.set(resource, text);
    return text;
  };
}
