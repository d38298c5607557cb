// SPDX-License-Identifier: AGPL-3.0-or-later

/** Where the copied types live on a machine. @module */

import { MIRRORED } from "../resources/mirror/mirrored.ts";
import type { MirroredKind } from "../talos/mirror.ts";

/** Namespaces on a machine by the group in the type's name; fixed by Talos. */
const NAMESPACE_OF_GROUP: Readonly<Record<string, string>> = {
  "net.talos.dev": "network",
  "hardware.talos.dev": "hardware",
  "cluster.talos.dev": "cluster",
  "kubernetes.talos.dev": "k8s",
  "etcd.talos.dev": "etcd",
  "config.talos.dev": "config",
  "perf.talos.dev": "perf",
};

/** The kinds that are followed on every machine. */
export const MIRRORED_KINDS: readonly MirroredKind[] = MIRRORED.map(({ type }) => ({
  type,
  namespace: NAMESPACE_OF_GROUP[type.slice(type.indexOf(".") + 1)] ?? "runtime",
}));
