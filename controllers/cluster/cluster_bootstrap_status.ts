// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts etcd on one control plane of a new cluster, once.
 *
 * A bootstrap that happened is never repeated: it would make a second, empty cluster. So the machine
 * is written down before it is called, and while it is in the cluster no other one is tried.
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
import {
  ANNOTATION_ETCD_MACHINES,
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
} from "../../resources/labels.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";
import { Machine } from "../../resources/machine/machine.ts";
import type { TalosApi } from "../../talos/api.ts";
import type { TalosTarget } from "../../talos/target.ts";
import { findTarget, TARGET_INPUTS, type TargetInput } from "../talos/target.ts";
import { CLUSTER_MACHINES, listClusterMachines, planRelease } from "./release.ts";

/** What the bootstrap depends on besides the cluster. */
export interface BootstrapFacts {
  readonly current: Resource<typeof ClusterBootstrapStatus> | undefined;
  readonly machines: readonly Resource<typeof ClusterMachine>[];
  /** The control planes that could start etcd now. */
  readonly ready: readonly TalosTarget[];
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
  const ready: TalosTarget[] = [];
  for (const controlPlane of controlPlanes) {
    if (!isReadyForBootstrap(controlPlane) || !reached.has(controlPlane.metadata.id)) continue;
    const machine = await reader.find(Machine, controlPlane.metadata.id);
    if (machine !== undefined) ready.push(await findTarget(machine, reader));
  }
  return {
    current: await reader.find(ClusterBootstrapStatus, id),
    machines: await listClusterMachines(id, reader),
    ready,
  };
}

/** A control plane that has its configuration and waits for etcd. */
function isReadyForBootstrap({ spec }: Resource<typeof ClusterMachineStatus>): boolean {
  return spec.configUpToDate && (spec.stage === Stage.BOOTING || spec.stage === Stage.RUNNING);
}

/** Decides whether etcd must be started, and where. */
export function planClusterBootstrapStatus(
  cluster: Resource<typeof Cluster>,
  { current, machines, ready }: BootstrapFacts,
): Plan<typeof ClusterBootstrapStatus, Bootstrap> {
  const release = planRelease(cluster, machines.length);
  if (release !== undefined) return release;
  const controlPlanes = machines.map(({ metadata }) => metadata)
    .filter(({ labels }) => LABEL_CONTROL_PLANE_ROLE in labels).map(({ id }) => id);
  const before = current?.metadata.annotations[ANNOTATION_ETCD_MACHINES]?.split(",") ?? [];
  const holders = before.filter((id) => controlPlanes.includes(id));
  if (current?.spec.bootstrapped === true) {
    if (holders.length === 0) return { kind: "destroy", reason: "etcd has gone with its machines" };
    return writtenFor(controlPlanes, { bootstrapped: true });
  }
  if (controlPlanes.length === 0) return wait("the cluster has no control plane");
  const [chosen] = holders;
  if (chosen === undefined) {
    const [first] = ready;
    if (first === undefined) return wait("no control plane is ready to start etcd");
    return { ...writtenFor([first.machineId], { bootstrapped: false }), retryAfterMs: 0 };
  }
  const target = ready.find(({ machineId }) => machineId === chosen);
  if (target === undefined) {
    return wait(
      `etcd may have been started on machine "${chosen}", which is not ready: ` +
        "bring it back, or take it out of the cluster",
    );
  }
  return { ...writtenFor([chosen], { bootstrapped: true }), action: { target } };
}

/** The status with the machines that may hold data of etcd. */
function writtenFor(machines: readonly string[], spec: { readonly bootstrapped: boolean }) {
  const annotations = { [ANNOTATION_ETCD_MACHINES]: machines.join(",") };
  return { kind: "write", spec, annotations } as const;
}
