// SPDX-License-Identifier: AGPL-3.0-or-later

/** Tells whether the control planes of a cluster are reached and are members of etcd. @module */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import {
  ConditionType,
  ControlPlaneStatusSpec_Condition_Severity as Severity,
  ControlPlaneStatusSpec_Condition_Status as Status,
} from "../../proto/gen/omni/specs_pb.ts";
import { ClusterMachineIdentity } from "../../resources/cluster/cluster_machine_identity.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { ControlPlaneStatus } from "../../resources/cluster/control_plane_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import {
  LABEL_CONNECTED,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
} from "../../resources/labels.ts";
import { listed } from "./listed.ts";

/** The members of the control plane. */
export interface ControlPlaneFacts {
  readonly machines: readonly Resource<typeof ClusterMachineStatus>[];
  readonly identities: readonly Resource<typeof ClusterMachineIdentity>[];
}

/** Creates the controller. */
export function controlPlaneStatusController(): Controller {
  return defineController({
    name: "cluster.ControlPlaneStatusController",
    primary: MachineSet,
    mapped: [
      byLabel(ClusterMachineStatus, LABEL_MACHINE_SET),
      byLabel(ClusterMachineIdentity, LABEL_MACHINE_SET),
    ],
    output: ControlPlaneStatus,
    gather: gatherControlPlaneFacts,
    plan: planControlPlaneStatus,
  });
}

async function gatherControlPlaneFacts(
  { metadata: { id } }: Resource<typeof MachineSet>,
  reader: Reader<typeof ClusterMachineStatus | typeof ClusterMachineIdentity>,
): Promise<ControlPlaneFacts> {
  const options = { labels: { [LABEL_MACHINE_SET]: id } };
  return {
    machines: await reader.list(ClusterMachineStatus, options),
    identities: await reader.list(ClusterMachineIdentity, options),
  };
}

/** Derives the conditions; machine sets of workers have none. */
export function planControlPlaneStatus(
  set: Resource<typeof MachineSet>,
  { machines, identities }: ControlPlaneFacts,
): Plan<typeof ControlPlaneStatus> {
  if (!(LABEL_CONTROL_PLANE_ROLE in set.metadata.labels)) {
    return { kind: "destroy", reason: "the machine set is no control plane" };
  }
  const members = new Set(
    identities.filter(({ spec }) => spec.etcdMemberId !== 0n).map(({ metadata }) => metadata.id),
  );
  const outside = machines.filter(({ metadata }) => !members.has(metadata.id));
  const silent = machines.filter(({ metadata }) => !(LABEL_CONNECTED in metadata.labels));
  return {
    kind: "write",
    labels: set.metadata.labels,
    spec: {
      conditions: [
        condition(ConditionType.Etcd, machines.length, "not a member of etcd", outside),
        condition(ConditionType.WireguardConnection, machines.length, "not connected", silent),
      ],
    },
  };
}

function condition(
  type: ConditionType,
  total: number,
  fault: string,
  faulty: readonly Resource<typeof ClusterMachineStatus>[],
) {
  if (total === 0) {
    const reason = "the control plane has no machines";
    return { type, reason, status: Status.NotReady, severity: Severity.Error };
  }
  if (faulty.length === 0) {
    return { type, reason: "", status: Status.Ready, severity: Severity.Info };
  }
  // etcd goes on while a majority of its members is there.
  const severity = faulty.length * 2 < total ? Severity.Warning : Severity.Error;
  const reason = `${fault}: ${listed(faulty)}`;
  return { type, reason, status: Status.NotReady, severity };
}
