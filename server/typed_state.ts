// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The state by declared types, as the parts of the server beside the controllers read it.
 *
 * @module
 */

import type { Ref, Resource, ResourceType } from "../cosi/resource.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";

/** Names a resource of a declared type. */
export function refOf(type: ResourceType, id: string): Ref {
  return { namespace: type.namespace, type: type.type, id };
}

/** The resource at this moment, `undefined` when it is not there. */
export function peekResource<T extends ResourceType>(
  state: StateCore,
  type: T,
  id: string,
): Resource<T> | undefined {
  const raw = state.peek(refOf(type, id));
  return raw && decoded(type, raw);
}

/** The resources of a type at this moment whose labels have these values, sorted by ID. */
export function listResources<T extends ResourceType>(
  state: StateCore,
  type: T,
  labels: Readonly<Record<string, string>> = {},
): readonly Resource<T>[] {
  const terms = Object.entries(labels).map(([key, value]) => ({
    key,
    op: "equal" as const,
    values: [value],
    invert: false,
  }));
  const selection = terms.length === 0 ? {} : { labelQueries: [{ terms }] };
  return state.snapshot({ namespace: type.namespace, type: type.type }, selection)
    .map((raw) => decoded(type, raw));
}

/** A stored resource as its type. */
export function decoded<T extends ResourceType>(type: T, raw: RawResource): Resource<T> {
  return { metadata: raw.metadata, spec: raw.decode<T["schema"]>(type.schema) };
}
