// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Brings a resource of the server's own into the state, writing only a difference.
 *
 * @module
 */

import { create, equals, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { systemClock } from "../base/clock.ts";
import { codeOf } from "../base/errors.ts";
import { type Instant, type Metadata, refOf, type ResourceType } from "../cosi/resource.ts";
import { findRaw } from "../cosi/runtime/state_reader.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
import { sameRecord } from "../cosi/state/same_record.ts";
import type { State } from "../cosi/state/state.ts";

/** What a resource shall be. */
export interface WantedResource<T extends ResourceType> {
  readonly id: string;
  readonly spec: MessageInitShape<T["schema"]>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The stored resource, or `undefined` when it is not there. */
export function findResource(
  state: State,
  type: ResourceType,
  id: string,
): Promise<RawResource | undefined> {
  return findRaw(state, refOf(type, id));
}

function instantOf(ms: number): Instant {
  return { seconds: BigInt(Math.floor(ms / 1000)), nanos: (ms % 1000) * 1_000_000 };
}

/**
 * Creates a resource, or replaces spec, labels and annotations of the stored one where they differ.
 *
 * @param owner The writer that the resource has or gets; none by default.
 * @throws CodedError `conflict` while a resource that is being removed still has finalizers.
 */
export async function putResource<T extends ResourceType>(
  state: State,
  type: T,
  { id, spec, labels = {}, annotations = {} }: WantedResource<T>,
  owner = "",
): Promise<void> {
  const message = create(type.schema, spec);
  const stored = await findResource(state, type, id);
  const protoSpec = toBinary(type.schema, message);
  if (stored === undefined) {
    const metadata: Metadata = {
      namespace: type.namespace,
      type: type.type,
      id,
      version: 0,
      owner,
      phase: "running",
      created: undefined,
      // The state keeps what a writer says here, and clients show it.
      updated: instantOf(systemClock.nowMs()),
      finalizers: [],
      labels,
      annotations,
    };
    await state.create({ metadata, protoSpec, yamlSpec: "" }, { owner });
    return;
  }
  const { metadata } = stored;
  if (metadata.phase === "tearingDown") {
    // Its removal was begun earlier; the resource is wanted again and starts afresh.
    await state.destroy(metadata, { owner: metadata.owner });
    return await putResource(state, type, { id, spec, labels, annotations }, owner);
  }
  if (
    equals(type.schema, stored.decode(type.schema), message) &&
    sameRecord(metadata.labels, labels) && sameRecord(metadata.annotations, annotations)
  ) return;
  const draft = { metadata: { ...metadata, labels, annotations }, protoSpec, yamlSpec: "" };
  await state.update(draft, { owner });
}

/** Removes a resource if it is there; with finalizers left it is only marked. */
export async function removeResource(
  state: State,
  type: ResourceType,
  id: string,
  owner = "",
): Promise<void> {
  const ref = refOf(type, id);
  try {
    if (await state.teardown(ref, { owner })) await state.destroy(ref, { owner });
  } catch (error) {
    if (codeOf(error) !== "notFound") throw error;
  }
}
