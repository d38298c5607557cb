// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The public words of the state: metadata, typed resources and how a type is declared.
 *
 * @module
 */

import type { DescMessage, MessageShape } from "@bufbuild/protobuf";

/** Where a resource stands in its life: `tearingDown` is marked for removal, not yet removed. */
export type Phase = "running" | "tearingDown";

/** A point in time with the precision of the wire. */
export interface Instant {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Names one resource. */
export interface Ref {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
}

/** Names all resources of one type in one namespace. */
export interface Kind {
  readonly namespace: string;
  readonly type: string;
}

/** Everything about a resource but its spec. Immutable: a change makes another object. */
export interface Metadata extends Ref {
  /** Counts the writes of this resource from 1; 0 is the wire's `undefined`. */
  readonly version: number;
  /** The writer that may change it; empty for what a user wrote. */
  readonly owner: string;
  readonly phase: Phase;
  readonly created: Instant | undefined;
  readonly updated: Instant | undefined;
  readonly finalizers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Checks a resource that a client writes; throws `invalidArgument` naming every violated field. */
export type Validator<S extends DescMessage> = (change: {
  readonly verb: "create" | "update" | "teardown" | "destroy";
  readonly metadata: Metadata;
  readonly spec: MessageShape<S>;
  /** The stored resource before the change, absent for `create`. */
  readonly stored?: { readonly metadata: Metadata; readonly spec: MessageShape<S> };
}) => void;

/**
 * What clients may do with a type over the API: nothing at all, read it, or also write it when the
 * validator accepts the content.
 */
export type Access<S extends DescMessage> = "hidden" | "readOnly" | {
  readonly validate: Validator<S>;
};

/** How a type shows itself to clients: the content of its ResourceDefinition. */
export interface TypeDisplay {
  /** Singular name as shown to people, for example `Link`. */
  readonly displayType: string;
  readonly aliases: readonly string[];
  /** Columns of a table beside namespace, type, ID and version; the paths use YAML keys. */
  readonly printColumns: readonly { readonly name: string; readonly jsonPath: string }[];
  readonly sensitive: boolean;
}

/**
 * The declaration of one resource type. Its name is part of the TypeScript type: two types that share
 * a schema cannot be mixed up.
 */
export interface ResourceType<S extends DescMessage = DescMessage, N extends string = string> {
  /** The name on the wire and in the store, for example `Links.omni.sidero.dev`. */
  readonly type: N;
  /** The namespace in which the type lives. */
  readonly namespace: string;
  readonly schema: S;
  readonly access: Access<S>;
  readonly display: TypeDisplay;
  /** Whether its resources survive a restart; those of `ephemeral` types live in memory only. */
  readonly ephemeral: boolean;
}

/** What {@linkcode defineResource} needs; the rest has defaults. */
export interface ResourceDeclaration<S extends DescMessage, N extends string> {
  readonly type: N;
  readonly namespace: string;
  readonly schema: S;
  readonly access: Access<NoInfer<S>>;
  readonly display?: Partial<TypeDisplay>;
  readonly ephemeral?: boolean;
}

/** Names one resource of a type. */
export function refOf({ namespace, type }: Kind, id: string): Ref {
  return { namespace, type, id };
}

/** Declares a resource type. */
export function defineResource<const S extends DescMessage, const N extends string>(
  declaration: ResourceDeclaration<S, N>,
): ResourceType<S, N> {
  const { display = {}, ephemeral = false, ...rest } = declaration;
  const plural = declaration.type.slice(0, declaration.type.indexOf("."));
  return {
    ...rest,
    ephemeral,
    display: {
      displayType: display.displayType ?? plural.replace(/s$/, ""),
      aliases: display.aliases ?? [],
      printColumns: display.printColumns ?? [],
      sensitive: display.sensitive ?? false,
    },
  };
}

/** The spec of a type as a decoded message. */
export type SpecOf<T extends ResourceType> = MessageShape<T["schema"]>;

/** A resource of a declared type, decoded. Immutable. */
export interface Resource<T extends ResourceType> {
  readonly metadata: Metadata;
  readonly spec: SpecOf<T>;
}
