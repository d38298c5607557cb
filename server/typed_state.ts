// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The state by declared types, as the parts of the server beside the controllers read it.
 *
 * @module
 */

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Metadata, Ref, Resource, ResourceType } from "../cosi/resource.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
import type { Selection } from "../cosi/state/state.ts";

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

/** Selects what has all of these labels with these values; everything when there are none. */
export function selectionOf(labels: Readonly<Record<string, string>>): Selection {
  const terms = Object.entries(labels).map(([key, value]) => ({
    key,
    op: "equal" as const,
    values: [value],
    invert: false,
  }));
  return terms.length === 0 ? {} : { labelQueries: [{ terms }] };
}

/** The resources of a type at this moment whose labels have these values, sorted by ID. */
export function listResources<T extends ResourceType>(
  state: StateCore,
  type: T,
  labels: Readonly<Record<string, string>> = {},
): readonly Resource<T>[] {
  return state.snapshot({ namespace: type.namespace, type: type.type }, selectionOf(labels))
    .map((raw) => decoded(type, raw));
}

/** What replaces the content of a resource; what is left out stays. */
export interface Replacement<T extends ResourceType> {
  readonly spec: MessageInitShape<T["schema"]>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Creates a resource that has no owner.
 *
 * @throws CodedError `alreadyExists` when someone else was faster.
 */
export async function createResource<T extends ResourceType>(
  state: StateCore,
  type: T,
  id: string,
  { spec, labels = {}, annotations = {} }: Replacement<T>,
): Promise<void> {
  const metadata: Metadata = {
    ...refOf(type, id),
    version: 0,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels,
    annotations,
  };
  const protoSpec = toBinary(type.schema, create(type.schema, spec));
  await state.create({ metadata, protoSpec, yamlSpec: "" });
}

/**
 * Replaces the content of a resource as it was read.
 *
 * @throws CodedError `conflict` when it was written since: the decision behind the change is void.
 */
export async function replaceResource<T extends ResourceType>(
  state: StateCore,
  type: T,
  { metadata }: Resource<T>,
  { spec, labels = metadata.labels, annotations = metadata.annotations }: Replacement<T>,
): Promise<void> {
  const protoSpec = toBinary(type.schema, create(type.schema, spec));
  const { owner } = metadata;
  await state.update({ metadata: { ...metadata, labels, annotations }, protoSpec, yamlSpec: "" }, {
    owner,
  });
}

/** A stored resource as its type. */
export function decoded<T extends ResourceType>(type: T, raw: RawResource): Resource<T> {
  return { metadata: raw.metadata, spec: raw.decode<T["schema"]>(type.schema) };
}
