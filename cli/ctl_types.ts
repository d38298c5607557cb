// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Which types a server has, and which of them a word means.
 *
 * @module
 */

import { fromBinary } from "@bufbuild/protobuf";
import type { State } from "../cosi/state/state.ts";
import { ResourceDefinitionSpecSchema } from "../proto/gen/cosi/meta_pb.ts";
import { usageError } from "./usage.ts";

/** A type as the server describes it. */
export interface TypeDefinition {
  readonly type: string;
  readonly displayType: string;
  readonly namespace: string;
  /** Short names, those made from the full one included. */
  readonly aliases: readonly string[];
  readonly printColumns: readonly { readonly name: string; readonly jsonPath: string }[];
}

/** Fetches the definitions of all types, by name. */
export async function listDefinitions(state: State): Promise<readonly TypeDefinition[]> {
  const kind = { namespace: "meta", type: "ResourceDefinitions.meta.cosi.dev" };
  const definitions = (await state.list(kind)).map(({ protoSpec }) => {
    const spec = fromBinary(ResourceDefinitionSpecSchema, protoSpec);
    return {
      type: spec.resourceType,
      displayType: spec.displayType,
      namespace: spec.defaultNamespace,
      aliases: spec.allAliases,
      printColumns: spec.printColumns,
    };
  });
  return definitions.toSorted((left, right) => left.type < right.type ? -1 : 1);
}

/** What a word may mean. */
export type TypeMatch =
  | { readonly kind: "one"; readonly definition: TypeDefinition }
  | { readonly kind: "several"; readonly types: readonly string[] }
  | { readonly kind: "none" };

/**
 * Looks a word up: the full name or an alias in any case wins over the beginning of one; either must
 * be unique.
 */
export function matchType(word: string, definitions: readonly TypeDefinition[]): TypeMatch {
  const wanted = word.toLowerCase();
  const tests = [(name: string) => name === wanted, (name: string) => name.startsWith(wanted)];
  for (const test of tests) {
    const found = definitions.filter(({ type, aliases }) =>
      test(type.toLowerCase()) || aliases.some(test)
    );
    const [first] = found;
    if (first === undefined) continue;
    if (found.length === 1) return { kind: "one", definition: first };
    return { kind: "several", types: found.map(({ type }) => type) };
  }
  return { kind: "none" };
}

function listed(names: readonly string[]): string {
  return names.map((name) => `  ${name}`).join("\n");
}

/** Finds the type that a word means, or ends the command with what it could have meant. */
export async function resolveType(state: State, word: string): Promise<TypeDefinition> {
  const definitions = await listDefinitions(state);
  const match = matchType(word, definitions);
  switch (match.kind) {
    case "one":
      return match.definition;
    case "several":
      throw usageError(`type "${word}" is ambiguous; it may be:\n${listed(match.types)}`);
    case "none":
      throw usageError(
        `unknown type "${word}"; the server has:\n${listed(definitions.map(({ type }) => type))}`,
      );
  }
}
