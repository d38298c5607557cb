// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Follows the lab's machines and clusters over the API, as any client would.
 *
 * @module
 */

import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import type { ResourceType } from "../cosi/resource.ts";
import type { State } from "../cosi/state/state.ts";
import { MachineStatusEvent_MachineStage as Stage } from "../proto/gen/talos/machine_pb.ts";
import { ClusterStatusSpec_Phase as Phase } from "../proto/gen/omni/specs_pb.ts";
import { ClusterMachineStatus } from "../resources/cluster/cluster_machine_status.ts";
import { ClusterStatus } from "../resources/cluster/cluster_status.ts";
import { MachineStatus } from "../resources/machine/machine_status.ts";
import { MachineStatusSnapshot } from "../resources/machine/machine_status_snapshot.ts";
import type { LabStatus } from "./lab_status.ts";

/** Watches until the signal aborts and calls back with the whole status after each change. */
export async function watchLab(
  state: State,
  changed: (status: LabStatus) => void,
  signal: AbortSignal,
): Promise<void> {
  const machines: Specs<typeof MachineStatus.schema> = new Map();
  const snapshots: Specs<typeof MachineStatusSnapshot.schema> = new Map();
  const members: Specs<typeof ClusterMachineStatus.schema> = new Map();
  const clusters: Specs<typeof ClusterStatus.schema> = new Map();
  const tell = (): void => {
    changed({
      machines: [...machines].sort(byId).map(([id, spec]) => ({
        id,
        hostname: spec.network?.hostname ?? "",
        isConnected: spec.connected,
        stage: wordsOf(Stage[snapshots.get(id)?.machineStatus?.stage ?? Stage.UNKNOWN] ?? ""),
        cluster: spec.cluster,
        error: members.get(id)?.lastConfigError || spec.lastError,
      })),
      clusters: [...clusters].sort(byId).map(([id, spec]) => ({
        id,
        phase: wordsOf(Phase[spec.phase] ?? ""),
        isReady: spec.ready,
        healthy: spec.machines?.healthy ?? 0,
        total: spec.machines?.total ?? 0,
      })),
    });
  };
  await Promise.all([
    follow(state, MachineStatus, machines, tell, signal),
    follow(state, MachineStatusSnapshot, snapshots, tell, signal),
    follow(state, ClusterMachineStatus, members, tell, signal),
    follow(state, ClusterStatus, clusters, tell, signal),
  ]);
}

type Specs<S extends DescMessage> = Map<string, MessageShape<S>>;

async function follow<S extends DescMessage>(
  state: State,
  { namespace, type, schema }: ResourceType<S>,
  specs: Specs<S>,
  tell: () => void,
  signal: AbortSignal,
): Promise<void> {
  const watch = await state.watchKind({ namespace, type }, { bootstrapContents: true, signal });
  for await (const events of watch) {
    for (const { type: event, resource } of events) {
      const { id } = resource.metadata;
      if (event === "created" || event === "updated") {
        specs.set(id, fromBinary(schema, resource.protoSpec));
      } else if (event === "destroyed") specs.delete(id);
    }
    tell();
  }
}

function byId([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function wordsOf(name: string): string {
  return name === "UNKNOWN" ? "" : name.toLowerCase().replaceAll("_", " ");
}
