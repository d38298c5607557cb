// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts etcd on one control plane of a new cluster, once.
 *
 * A bootstrap that happened is never repeated: it would make a second, empty cluster.
 *
 * @module
 */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  readOnly,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { ClusterMachineStatusSpec_Stage as Stage } from "../../proto/gen/omni/specs_pb.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterBootstrapStatus } from "../../resources/cluster/cluster_bootstrap_status.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { LABEL_CLUSTER, LABEL_CONTROL_PLANE_ROLE } from "../../resources/labels.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";
import { Machine } from "../../resources/machine/machine.ts";
import type { TalosApi } from "../../talos/api.ts";
import type { TalosTarget } from "../../talos/target.ts";
import { findTarget, TARGET_INPUTS, type TargetInput } from "../talos/target.ts";
import { CLUSTER_MACHINES, listClusterMachines, planRelease } from "./release.ts";

/** What the bootstrap depends on besides the cluster. */
export interface BootstrapFacts {
  readonly isBootstrapped: boolean;
  readonly controlPlanes: readonly Resource<typeof ClusterMachineStatus>[];
  /** The machine to start on; absent while none is ready for it. */
  readonly target: TalosTarget | undefined;
  readonly machinesLeft: number;
}

/** etcd is to be started. */
export interface Bootstrap {
  readonly target: TalosTarget;
}

/** Creates the controller. */
export function clusterBootstrapStatusController(
  { talos }: { readonly talos: Pick<TalosApi, "bootstrap"> },
): Controller {
  return defineController({
    name: "cluster.ClusterBootstrapStatusController",
    primary: Cluster,
    mapped: [
      byLabel(ClusterMachineStatus, LABEL_CLUSTER),
      byLabel(TalosSessionStatus, LABEL_CLUSTER),
      sameId(ClusterBootstrapStatus),
      CLUSTER_MACHINES,
      ...TARGET_INPUTS.map(({ type }) => readOnly(type)),
    ],
    output: ClusterBootstrapStatus,
    plansTeardown: true,
    gather: gatherBootstrapFacts,
    plan: planClusterBootstrapStatus,
    act: (_cluster, { target }, { signal }) => talos.bootstrap(target, { signal }),
  });
}

async function gatherBootstrapFacts(
  { metadata: { id } }: Resource<typeof Cluster>,
  reader: Reader<
    | TargetInput
    | typeof ClusterMachineStatus
    | typeof TalosSessionStatus
    | typeof ClusterBootstrapStatus
    | typeof ClusterMachine
  >,
): Promise<BootstrapFacts> {
  const labels = { [LABEL_CLUSTER]: id, [LABEL_CONTROL_PLANE_ROLE]: "" };
  const controlPlanes = await reader.list(ClusterMachineStatus, { labels });
  const sessions = await reader.list(TalosSessionStatus, { labels: { [LABEL_CLUSTER]: id } });
  const reached = new Set(
    sessions.filter(({ spec }) => spec.connected).map(({ metadata }) => metadata.id),
  );
  const first = controlPlanes.find((machine) =>
    isReadyForBootstrap(machine) && reached.has(machine.metadata.id)
  );
  const machine = first && await reader.find(Machine, first.metadata.id);
  return {
    isBootstrapped: (await reader.find(ClusterBootstrapStatus, id))?.spec.bootstrapped ?? false,
    controlPlanes,
    target: machine && await findTarget(machine, reader),
    machinesLeft: (await listClusterMachines(id, reader)).length,
  };
}

/** A control plane that has its configuration and waits for etcd. */
function isReadyForBootstrap({ spec }: Resource<typeof ClusterMachineStatus>): boolean {
  return spec.configUpToDate && (spec.stage === Stage.BOOTING || spec.stage === Stage.RUNNING);
}

/** Decides whether etcd must be started, and where. */
export function planClusterBootstrapStatus(
  cluster: Resource<typeof Cluster>,
  { isBootstrapped, controlPlanes, target, machinesLeft }: BootstrapFacts,
): Plan<typeof ClusterBootstrapStatus, Bootstrap> {
  const release = planRelease(cluster, machinesLeft);
  if (release !== undefined) return release;
  if (isBootstrapped) return { kind: "write", spec: { bootstrapped: true } };
  if (controlPlanes.length === 0) return wait("the cluster has no control plane");
  if (target === undefined) return wait("no control plane is ready to start etcd");
  return { kind: "write", spec: { bootstrapped: true }, action: { target } };
}
