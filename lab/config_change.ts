// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Whether a change of configuration takes effect without a reboot.
 *
 * Up to Talos 1.13 a machine reboots unless all that differs lies in the fields below; every
 * document but v1alpha1 is immediate. From 1.14 on nothing reboots.
 *
 * @module
 */

import { MAIN_KIND } from "../talos/config/schema.ts";
import { isTree, type MachineConfig, type Tree } from "./machine_config.ts";

/** Fields of the v1alpha1 document that take effect at once. */
const IMMEDIATE: readonly string[] = [
  "debug",
  "cluster",
  "machine.ca",
  "machine.acceptedCAs",
  "machine.time",
  "machine.certSANs",
  "machine.install",
  "machine.network",
  "machine.sysfs",
  "machine.sysctls",
  "machine.logging",
  "machine.controlPlane",
  "machine.kubelet",
  "machine.kernel",
  "machine.registries",
  "machine.pods",
  "machine.seccompProfiles",
  "machine.nodeLabels",
  "machine.nodeAnnotations",
  "machine.nodeTaints",
  "machine.features.kubernetesTalosAPIAccess",
  "machine.features.kubePrism",
  "machine.features.hostDNS",
  "machine.features.imageCache",
  "machine.features.nodeAddressSortAlgorithm",
];

/** Paths that differ and need a reboot, in the order of the left side; empty when none do. */
export function rebootingChanges(before: MachineConfig, after: MachineConfig): string[] {
  const paths = new Set<string>();
  collect(mainOf(before), mainOf(after), "", paths);
  return [...paths];
}

/** Whether two configurations say the same. */
export function sameConfig(before: MachineConfig, after: MachineConfig): boolean {
  const values = ({ documents }: MachineConfig): string =>
    JSON.stringify(sorted(documents.map(({ value }) => value)));
  return values(before) === values(after);
}

function mainOf(config: MachineConfig): Tree {
  return config.documents.find(({ kind }) => kind === MAIN_KIND)?.value ?? {};
}

function collect(before: Tree, after: Tree, prefix: string, into: Set<string>): void {
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const path = prefix === "" ? key : `${prefix}.${key}`;
    if (IMMEDIATE.includes(path)) continue;
    const [left, right] = [before[key], after[key]];
    if (isTree(left) && isTree(right)) collect(left, right, path, into);
    else if (JSON.stringify(sorted(left)) !== JSON.stringify(sorted(right))) into.add(path);
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => a < b ? -1 : 1).map(([key, item]) => [
      key,
      sorted(item),
    ]),
  );
}
