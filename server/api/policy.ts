// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What clients may do, decided from the declarations of the types.
 *
 * Calls are not authenticated, so the policy does not know who asks: it keeps in what nobody may see
 * and keeps out what only the server and its controllers write.
 *
 * @module
 */

import { fromBinary, type Message } from "@bufbuild/protobuf";
import { CodedError } from "../../base/errors.ts";
import type { Metadata, Ref, Resource, ResourceType } from "../../cosi/resource.ts";
import type { RawResource } from "../../cosi/state/raw_resource.ts";
import type { AccessPolicy, AccessVerb } from "../../cosi/state/service.ts";
import type { ResourceDraft } from "../../cosi/state/state.ts";
import {
  TALOS_MIRROR_NAMESPACE,
  TALOS_MIRROR_TYPES_NAMESPACE,
} from "../../resources/namespaces.ts";

/** A change whose content is to be checked. */
export interface ContentChange {
  readonly verb: "create" | "update" | "teardown" | "destroy";
  readonly metadata: Metadata;
  readonly spec: Message;
  readonly stored?: Resource<ResourceType> | undefined;
}

/** Options of {@linkcode createPolicy}. */
export interface PolicyOptions {
  readonly types: readonly ResourceType[];
  /** The stored resource at this moment. */
  readonly peek: (ref: Ref) => RawResource | undefined;
  /**
   * Checks what depends on more than the resource, after the type's own validator accepted it; throws
   * `invalidArgument`.
   */
  readonly checkReferences?: (change: ContentChange) => void;
}

/** Namespaces in which only the server writes, whatever the type. */
const READ_ONLY_NAMESPACES: ReadonlySet<string> = new Set([
  "meta",
  TALOS_MIRROR_NAMESPACE,
  TALOS_MIRROR_TYPES_NAMESPACE,
]);

function isRead(verb: AccessVerb): verb is "get" | "list" | "watch" {
  return verb === "get" || verb === "list" || verb === "watch";
}

function refuse(verb: AccessVerb, type: string): CodedError {
  return new CodedError("permissionDenied", `Cannot ${verb} ${type}: not available over the API`);
}

/**
 * Creates the policy of a catalogue; types outside it are the clients' own and open to them.
 *
 * It refuses with `permissionDenied` what is not available over the API, and with `invalidArgument`
 * what breaks the rules of its type.
 */
export function createPolicy(
  { types, peek, checkReferences }: PolicyOptions,
): AccessPolicy {
  const declared = new Map(types.map((type) => [type.type, type]));
  return {
    check(verb, target, _peer, draft) {
      const type = declared.get(target.type);
      if (type?.access === "hidden") throw refuse(verb, target.type);
      if (isRead(verb)) return;
      if (READ_ONLY_NAMESPACES.has(target.namespace)) throw refuse(verb, target.type);
      if (type === undefined) return;
      if (type.access === "readOnly") throw refuse(verb, target.type);
      const ref: Ref = { ...target, id: target.id ?? "" };
      if (ref.namespace !== type.namespace) {
        throw new CodedError(
          "invalidArgument",
          `Cannot ${verb} ${ref.type} "${ref.id}": its namespace must be "${type.namespace}", ` +
            `current value is "${ref.namespace}"`,
        );
      }
      const change = readChange(verb, ref, type, draft, peek(ref));
      if (change === undefined || typeof type.access === "string") return;
      const { stored, ...rest } = change;
      type.access.validate(stored === undefined ? rest : { ...rest, stored });
      checkReferences?.(change);
    },
  };
}

function readChange(
  verb: "create" | "update" | "teardown" | "destroy",
  ref: Ref,
  type: ResourceType,
  draft: ResourceDraft | undefined,
  raw: RawResource | undefined,
): ContentChange | undefined {
  const stored = raw && { metadata: raw.metadata, spec: raw.decode(type.schema) };
  if (draft !== undefined) {
    return { verb, metadata: draft.metadata, spec: decodeDraft(verb, ref, type, draft), stored };
  }
  // Whoever removes what is not there gets the answer of the state.
  return stored && { verb, ...stored, stored };
}

function decodeDraft(
  verb: AccessVerb,
  ref: Ref,
  type: ResourceType,
  { protoSpec }: ResourceDraft,
): Message {
  try {
    return fromBinary(type.schema, protoSpec);
  } catch (cause) {
    throw new CodedError(
      "invalidArgument",
      `Cannot ${verb} ${ref.type} "${ref.id}": its spec is no ${type.schema.typeName}`,
      { cause },
    );
  }
}
