// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The rules of writing: what a request makes of the stored resource, or why it may not.
 *
 * Pure: the stored resource and the time come in, the next resource comes out.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Instant, Metadata, Ref } from "../resource.ts";
import { RawResource } from "./raw_resource.ts";
import type { ResourceDraft, UpdateOptions, WriteOptions } from "./state.ts";

/** How messages name a resource. */
export function describeRef({ namespace, type, id }: Ref): string {
  return `${type} "${namespace}/${id}"`;
}

/** The error of a resource that is not there. */
export function notFound(ref: Ref): CodedError {
  return new CodedError("notFound", `Cannot find ${describeRef(ref)}: it does not exist`);
}

/** The metadata to store: written out, so that all of them have one shape for the engine. */
function stamped(
  metadata: Metadata,
  stamps: Pick<Metadata, "owner" | "version" | "created" | "updated">,
): Metadata {
  return {
    namespace: metadata.namespace,
    type: metadata.type,
    id: metadata.id,
    version: stamps.version,
    owner: stamps.owner,
    phase: metadata.phase,
    created: stamps.created,
    updated: stamps.updated,
    finalizers: metadata.finalizers,
    labels: metadata.labels,
    annotations: metadata.annotations,
  };
}

function requireOwner(verb: string, stored: Metadata, owner: string): void {
  if (stored.owner === owner) return;
  throw new CodedError(
    "ownerConflict",
    `Cannot ${verb} ${describeRef(stored)}: its owner is "${stored.owner}", not "${owner}"`,
  );
}

/** Decides on creating a resource. */
export function decideCreate(
  stored: RawResource | undefined,
  draft: ResourceDraft,
  options: WriteOptions,
  now: Instant,
): RawResource {
  const { metadata, protoSpec, yamlSpec } = draft;
  const owner = options.owner ?? "";
  if (metadata.owner !== "" && metadata.owner !== owner) {
    throw new CodedError(
      "ownerConflict",
      `Cannot create ${
        describeRef(metadata)
      }: the owner in it is "${metadata.owner}", the writer "${owner}"`,
    );
  }
  if (stored !== undefined) {
    throw new CodedError("alreadyExists", `Cannot create ${describeRef(metadata)}: it exists`);
  }
  const { updated } = metadata;
  const stamps = { owner, version: 1, created: now, updated };
  return new RawResource(stamped(metadata, stamps), protoSpec, yamlSpec);
}

/** Decides on updating a resource. */
export function decideUpdate(
  stored: RawResource | undefined,
  draft: ResourceDraft,
  options: UpdateOptions,
  now: Instant,
): RawResource {
  const { metadata, protoSpec, yamlSpec } = draft;
  if (stored === undefined) throw notFound(metadata);
  const { owner, version, phase, created } = stored.metadata;
  requireOwner("update", stored.metadata, options.owner ?? "");
  if (metadata.version !== version) {
    throw new CodedError(
      "conflict",
      `Cannot update ${
        describeRef(metadata)
      }: its version is ${version}, the one given ${metadata.version}; read it again`,
    );
  }
  if (options.expectedPhase !== undefined && options.expectedPhase !== phase) {
    throw new CodedError(
      "phaseConflict",
      `Cannot update ${
        describeRef(metadata)
      }: its phase is ${phase}, expected was ${options.expectedPhase}`,
    );
  }
  const stamps = { owner, version: version + 1, created, updated: now };
  return new RawResource(stamped(metadata, stamps), protoSpec, yamlSpec);
}

/** Decides on marking a resource for removal; the stored resource itself when it is marked. */
export function decideTeardown(
  stored: RawResource | undefined,
  ref: Ref,
  options: WriteOptions,
  now: Instant,
): RawResource {
  if (stored === undefined) throw notFound(ref);
  requireOwner("tear down", stored.metadata, options.owner ?? "");
  if (stored.metadata.phase === "tearingDown") return stored;
  const { version } = stored.metadata;
  return new RawResource(
    { ...stored.metadata, phase: "tearingDown", version: version + 1, updated: now },
    stored.protoSpec,
    stored.yamlSpec,
  );
}

/** Checks that a resource may be removed. */
export function decideDestroy(
  stored: RawResource | undefined,
  ref: Ref,
  options: WriteOptions,
): void {
  if (stored === undefined) throw notFound(ref);
  requireOwner("destroy", stored.metadata, options.owner ?? "");
  const { finalizers } = stored.metadata;
  if (finalizers.length > 0) {
    throw new CodedError(
      "conflict",
      `Cannot destroy ${describeRef(ref)}: it has finalizers: ${finalizers.join(", ")}`,
      { details: { finalizers } },
    );
  }
}
