// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Publishes what namespaces and types there are, as clients look them up.
 *
 * @module
 */

import type { ResourceType } from "../../cosi/resource.ts";
import type { State } from "../../cosi/state/state.ts";
import { ResourceDefinitionSpec_Sensitivity as Sensitivity } from "../../proto/gen/cosi/meta_pb.ts";
import { type NamespaceDeclaration, TALOS_MIRROR_NAMESPACE } from "../../resources/namespaces.ts";
import { Namespace } from "../../resources/system/namespace.ts";
import { ResourceDefinition } from "../../resources/system/resource_definition.ts";
import { putResource } from "../put_resource.ts";

/** The owner of all definitions: clients know them by it. */
const OWNER = "meta";

/** The names of a type that clients may use instead of its full one. */
export interface TypeNames {
  /** Short names made from the singular name, after those that the type declares. */
  readonly aliases: readonly string[];
  /** All of them, with the leading parts of the full name first. */
  readonly allAliases: readonly string[];
}

/** Makes the names of a type by the contract's rule. */
export function namesOf({ type, display }: ResourceType): TypeNames {
  const parts = type.toLowerCase().split(".");
  const leading = parts.slice(1).map((_, index) => parts.slice(0, index + 1).join("."));
  const initials = display.displayType.replace(/[^A-Z]/g, "").toLowerCase();
  const aliases = [...display.aliases];
  aliases.push(display.displayType.toLowerCase());
  if (initials.length > 1) aliases.push(initials);
  if (initials.length > 1 && !initials.endsWith("s")) aliases.push(`${initials}s`);
  return { aliases, allAliases: [...leading, ...aliases] };
}

/**
 * The names of a copied type: only those that no type of the server's own has, so that a name which
 * clients always used does not become ambiguous.
 */
function mirrorNames(type: ResourceType, taken: ReadonlySet<string>): TypeNames {
  const { aliases, allAliases } = namesOf(type);
  const free = (alias: string): boolean => !taken.has(alias);
  return { aliases: aliases.filter(free), allAliases: allAliases.filter(free) };
}

/** Writes the definitions of all namespaces and types; called at each start. */
export async function publishDefinitions(
  state: State,
  types: readonly ResourceType[],
  namespaces: readonly NamespaceDeclaration[],
): Promise<void> {
  for (const { name, description } of namespaces) {
    await putResource(state, Namespace, { id: name, spec: { description } }, OWNER);
  }
  const taken = new Set(
    types.filter(({ namespace }) => namespace !== TALOS_MIRROR_NAMESPACE)
      .flatMap((type) => namesOf(type).allAliases),
  );
  for (const type of types) {
    const mirrored = type.namespace === TALOS_MIRROR_NAMESPACE;
    const { aliases, allAliases } = mirrored ? mirrorNames(type, taken) : namesOf(type);
    await putResource(state, ResourceDefinition, {
      id: type.type.toLowerCase(),
      spec: {
        resourceType: type.type,
        displayType: type.display.displayType,
        defaultNamespace: type.namespace,
        aliases: [...aliases],
        allAliases: [...allAliases],
        printColumns: type.display.printColumns.map((column) => ({ ...column })),
        sensitivity: type.display.sensitive ? Sensitivity.SENSITIVE : Sensitivity.NON_SENSITIVE,
      },
    }, OWNER);
  }
}
