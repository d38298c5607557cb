// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What clients may do, decided from the declarations of the types.
 *
 * Calls are not authenticated, so the policy does not know who asks: it keeps in what nobody may see
 * and keeps out what only the server and its controllers write.
 *
 * @module
 */

import { fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { CodedError } from "../../base/errors.ts";
import type { Metadata, Ref, ResourceType, Validator } from "../../cosi/resource.ts";
import type { RawResource } from "../../cosi/state/raw_resource.ts";
import type { AccessPolicy, AccessVerb } from "../../cosi/state/service.ts";
import type { ResourceDraft } from "../../cosi/state/state.ts";
import {
  TALOS_MIRROR_NAMESPACE,
  TALOS_MIRROR_TYPES_NAMESPACE,
} from "../../resources/namespaces.ts";

/** Rules of a type's content that depend on other resources. */
export type ReferenceRule = (change: {
  readonly verb: "create" | "update" | "teardown" | "destroy";
  readonly metadata: Metadata;
  readonly spec: unknown;
  readonly stored?: RawResource;
}) => void;

/** Options of {@linkcode createPolicy}. */
export interface PolicyOptions {
  readonly types: readonly ResourceType[];
  /** The stored resource at this moment. */
  readonly peek: (ref: Ref) => RawResource | undefined;
  /** Further rules, by type. */
  readonly referenceRules?: ReadonlyMap<string, ReferenceRule>;
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
export function createPolicy({ types, peek, referenceRules }: PolicyOptions): AccessPolicy {
  const declared = new Map(types.map((type) => [type.type, type]));
  return {
    check(verb, target, _peer, draft) {
      const ref: Ref = { ...target, id: target.id ?? "" };
      const type = declared.get(ref.type);
      if (type?.access === "hidden") throw refuse(verb, ref.type);
      if (isRead(verb)) return;
      if (READ_ONLY_NAMESPACES.has(ref.namespace)) throw refuse(verb, ref.type);
      if (type === undefined) return;
      if (type.access === "readOnly") throw refuse(verb, ref.type);
      if (ref.namespace !== type.namespace) {
        throw new CodedError(
          "invalidArgument",
          `Cannot ${verb} ${ref.type} "${ref.id}": its namespace must be "${type.namespace}", ` +
            `current value is "${ref.namespace}"`,
        );
      }
      checkContent(verb, ref, type, draft, peek(ref), referenceRules?.get(ref.type));
    },
  };
}

function checkContent(
  verb: "create" | "update" | "teardown" | "destroy",
  ref: Ref,
  type: ResourceType,
  draft: ResourceDraft | undefined,
  stored: RawResource | undefined,
  referenceRule: ReferenceRule | undefined,
): void {
  if (typeof type.access === "string") return;
  const metadata = draft?.metadata ?? stored?.metadata;
  // Whoever removes what is not there gets the answer of the state.
  if (metadata === undefined) return;
  // An unchanged spec was accepted before, so that a finalizer or a label can always be changed.
  const spec = draft === undefined
    ? stored?.decode(type.schema)
    : decodeDraft(verb, ref, type, draft.protoSpec);
  if (spec === undefined) return;
  const validate: Validator<typeof type.schema> = type.access.validate;
  validate({
    verb,
    metadata,
    spec,
    ...(stored === undefined
      ? {}
      : { stored: { metadata: stored.metadata, spec: stored.decode(type.schema) } }),
  });
  referenceRule?.({ verb, metadata, spec, ...(stored === undefined ? {} : { stored }) });
}

function decodeDraft(
  verb: AccessVerb,
  ref: Ref,
  type: ResourceType,
  bytes: Uint8Array,
): MessageShape<typeof type.schema> {
  try {
    return fromBinary(type.schema, bytes);
  } catch (cause) {
    throw new CodedError(
      "invalidArgument",
      `Cannot ${verb} ${ref.type} "${ref.id}": its spec is no ${type.schema.typeName}`,
      { cause },
    );
  }
}
