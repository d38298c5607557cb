// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Collects the patches of each machine of a cluster, in the order in which they apply.
 *
 * The scope decides first, from wide to narrow: patches of the machine wherever it is, then of the
 * cluster, of the machine set and of the machine in the cluster. Within a scope it is the ID.
 *
 * @module
 */

import {
  byLabel,
  bySharedLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineConfigPatch } from "../../resources/config/cluster_machine_config_patch.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import {
  LABEL_CLUSTER,
  LABEL_CLUSTER_MACHINE,
  LABEL_DISABLED,
  LABEL_MACHINE,
  LABEL_MACHINE_SET,
} from "../../resources/labels.ts";

type Patch = Resource<typeof ConfigPatch>;

/** The patches that may concern a machine. */
export interface PatchFacts {
  readonly ofMachine: readonly Patch[];
  readonly ofCluster: readonly Patch[];
}

/** Creates the controller. */
export function clusterMachineConfigPatchesController(
  { textOf }: {
    /** The text of a patch, which clients may have compressed. */
    readonly textOf: (patch: Patch) => string;
  },
): Controller {
  return defineController({
    name: "config.ClusterMachineConfigPatchesController",
    primary: ClusterMachine,
    mapped: [byLabel(ConfigPatch, LABEL_MACHINE), bySharedLabel(ConfigPatch, LABEL_CLUSTER)],
    output: ClusterMachineConfigPatch,
    gather: gatherPatchFacts,
    plan: (machine, facts) => planClusterMachineConfigPatches(machine, facts, textOf),
  });
}

async function gatherPatchFacts(
  { metadata: { id, labels } }: Resource<typeof ClusterMachine>,
  reader: Reader<typeof ConfigPatch>,
): Promise<PatchFacts> {
  const cluster = labels[LABEL_CLUSTER] ?? "";
  return {
    ofMachine: await reader.list(ConfigPatch, { labels: { [LABEL_MACHINE]: id } }),
    ofCluster: await reader.list(ConfigPatch, { labels: { [LABEL_CLUSTER]: cluster } }),
  };
}

/** Puts the patches of a machine in order. */
export function planClusterMachineConfigPatches(
  machine: Resource<typeof ClusterMachine>,
  facts: PatchFacts,
  textOf: (patch: Patch) => string,
): Plan<typeof ClusterMachineConfigPatch> {
  const patches = patchesOf(machine, facts).map(textOf).filter((text) => text.trim() !== "");
  return { kind: "write", spec: { patches }, labels: machine.metadata.labels };
}

/** The patches that apply to a machine, first to last. */
export function patchesOf(
  { metadata: { id, labels } }: Resource<typeof ClusterMachine>,
  { ofMachine, ofCluster }: PatchFacts,
): readonly Patch[] {
  const isWhole = ({ metadata }: Patch): boolean =>
    metadata.labels[LABEL_MACHINE_SET] === undefined &&
    metadata.labels[LABEL_CLUSTER_MACHINE] === undefined;
  const scopes = [
    ofMachine,
    ofCluster.filter(isWhole),
    ofCluster.filter(({ metadata }) =>
      metadata.labels[LABEL_CLUSTER_MACHINE] === undefined &&
      metadata.labels[LABEL_MACHINE_SET] === labels[LABEL_MACHINE_SET]
    ),
    ofCluster.filter(({ metadata }) => metadata.labels[LABEL_CLUSTER_MACHINE] === id),
  ];
  return scopes.flat().filter(({ metadata }) =>
    metadata.phase === "running" && metadata.labels[LABEL_DISABLED] === undefined
  );
}
