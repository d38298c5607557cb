// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * As whom a machine's API is called.
 *
 * A machine in maintenance checks nobody and shows a certificate that nobody can check. A configured
 * machine of a cluster is called with the cluster's credentials.
 *
 * @module
 */

import { type Reader, readOnly, sameId } from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { Secret } from "../../base/redact.ts";
import { MachineStatusEvent_MachineStage as Stage } from "../../proto/gen/talos/machine_pb.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { LABEL_CLUSTER } from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatusSnapshot } from "../../resources/machine/machine_status_snapshot.ts";
import { TalosConfig } from "../../resources/talos/talos_config.ts";
import type { TalosTarget } from "../../talos/target.ts";

/** The inputs of a controller, with a machine's ID as its primary's, that calls machines. */
export const TARGET_INPUTS = [
  sameId(Machine),
  sameId(MachineStatusSnapshot),
  sameId(ClusterMachine),
  sameId(Link),
  // No machine gets a configuration before its cluster has credentials.
  readOnly(TalosConfig),
] as const;

/** The types behind {@linkcode TARGET_INPUTS}. */
export type TargetInput = (typeof TARGET_INPUTS)[number]["type"];

/** What a target follows from. */
export interface TargetFacts {
  readonly link: Resource<typeof Link> | undefined;
  readonly snapshot: Resource<typeof MachineStatusSnapshot> | undefined;
  readonly clusterMachine: Resource<typeof ClusterMachine> | undefined;
  readonly talosConfig: Resource<typeof TalosConfig> | undefined;
}

/** Reads what a target follows from and derives it. */
export async function findTarget(
  machine: Resource<typeof Machine>,
  reader: Reader<TargetInput>,
): Promise<TalosTarget> {
  return targetOf(machine, await gatherTargetFacts(machine.metadata.id, reader));
}

/** Reads what a target follows from. */
export async function gatherTargetFacts(
  machineId: string,
  reader: Reader<TargetInput>,
): Promise<TargetFacts> {
  const [link, snapshot, clusterMachine] = await Promise.all([
    reader.find(Link, machineId),
    reader.find(MachineStatusSnapshot, machineId),
    reader.find(ClusterMachine, machineId),
  ]);
  const cluster = clusterMachine?.metadata.labels[LABEL_CLUSTER];
  const talosConfig = cluster === undefined ? undefined : await reader.find(TalosConfig, cluster);
  return { link, snapshot, clusterMachine, talosConfig };
}

/** Whether the machine last said that it is in maintenance. */
export function isInMaintenance(
  snapshot: Resource<typeof MachineStatusSnapshot> | undefined,
): boolean {
  return snapshot?.spec.machineStatus?.stage === Stage.MAINTENANCE;
}

/** The target of a machine. */
export function targetOf(
  machine: Resource<typeof Machine>,
  { link, snapshot, talosConfig }: TargetFacts,
): TalosTarget {
  const target = {
    machineId: machine.metadata.id,
    address: machine.spec.managementAddress,
    boot: link?.spec.nodePublicKey ?? "",
  };
  if (talosConfig === undefined || isInMaintenance(snapshot)) return target;
  const { ca, crt, key } = talosConfig.spec;
  return {
    ...target,
    credentials: { ca: fromBase64(ca), crt: fromBase64(crt), key: new Secret(fromBase64(key)) },
  };
}

function fromBase64(text: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(text));
}
