// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The namespaces of the state that exist from the start.
 *
 * @module
 */

/** A namespace and what it holds. */
export interface NamespaceDeclaration {
  readonly name: string;
  readonly description: string;
}

/** Holds copies of resources of the machines, with the ID `<machine>/<ID on the machine>`. */
export const TALOS_MIRROR_NAMESPACE = "talos-mirror";
/** Holds, for each machine, copies of the definitions of its types. */
export const TALOS_MIRROR_TYPES_NAMESPACE = "talos-mirror-types";
/** Begins the name of the namespace in which a provider keeps its own resources. */
export const PROVIDER_NAMESPACE_PREFIX = "infra-provider:";

/** The namespaces that are published; others come into being when a client writes there. */
export const NAMESPACES: readonly NamespaceDeclaration[] = [
  { name: "meta", description: "Namespaces and definitions of types" },
  { name: "default", description: "Resources that survive a restart" },
  { name: "ephemeral", description: "Resources that are computed again after each start" },
  { name: "metrics", description: "Counters and times of last use" },
  { name: "virtual", description: "Resources that are computed for each request" },
  { name: "external", description: "Resources that other systems hold" },
  { name: "infra-provider", description: "Exchange with infrastructure providers" },
  {
    name: "infra-provider-ephemeral",
    description: "Exchange with infrastructure providers that does not survive a restart",
  },
  { name: "oidc", description: "Keys of signed tokens" },
  { name: TALOS_MIRROR_NAMESPACE, description: "Copies of resources of the machines" },
  { name: TALOS_MIRROR_TYPES_NAMESPACE, description: "Definitions of types of the machines" },
];
