// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * When a machine of a cluster gets its configuration.
 *
 * A boot of a machine is known by its WireGuard key, which is new at every boot. A machine that
 * shows up in maintenance in another boot than the one that got the configuration has lost it
 * without this server's doing: nothing is applied again by itself, because its disk may hold data.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { type Plan, wait } from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import type { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import type { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import { ANNOTATION_APPLIED_IN_BOOT, ANNOTATION_APPLYING_SHA256 } from "../../resources/labels.ts";
import { type ConfigAction, type ConfigStatusFacts, kept } from "./config_facts.ts";

/** Decides about a machine that belongs to its cluster. */
export function planApply(
  machine: Resource<typeof ClusterMachine>,
  facts: ConfigStatusFacts,
): Plan<typeof ClusterMachineConfigStatus, ConfigAction> {
  const { config, current, status, boot, isConnected, target } = facts;
  if (config === undefined || config.spec.data.length === 0) {
    return wait(config?.spec.generationError || "the machine has no configuration yet");
  }
  const sha256 = createHash("sha256").update(config.spec.data).digest("hex");
  const annotations = current?.metadata.annotations ?? {};
  const applied = {
    labels: machine.metadata.labels,
    spec: {
      clusterMachineConfigVersion: String(config.metadata.version),
      clusterMachineConfigSha256: sha256,
      talosVersion: status?.spec.talosVersion ?? "",
      schematicId: status?.spec.schematic?.fullId ?? "",
    },
  };
  const applying = annotations[ANNOTATION_APPLYING_SHA256];
  const lost = lostConfig(facts);
  if (applying === undefined && current?.spec.clusterMachineConfigSha256 === sha256) {
    // Only the machine's own versions, and the number of an equal configuration, may be new.
    return { kind: "write", ...applied, annotations, ...lost };
  }
  if (current !== undefined && isRefused(current, config)) {
    return { ...kept(machine, current), waiting: current.spec.lastConfigError };
  }
  if (target === undefined || !isConnected) return wait("the machine is not connected");
  if (facts.stage === undefined) return wait("the machine's API does not answer yet");
  if (lost.waiting !== undefined) return wait(lost.waiting);
  const inThisBoot = { [ANNOTATION_APPLIED_IN_BOOT]: boot };
  if (applying !== sha256 || annotations[ANNOTATION_APPLIED_IN_BOOT] !== boot) {
    // The answer to the call may be lost: what the machine may have got is written down before it.
    return {
      kind: "write",
      labels: machine.metadata.labels,
      spec: current?.spec ?? {},
      annotations: { ...inThisBoot, [ANNOTATION_APPLYING_SHA256]: sha256 },
      retryAfterMs: 0,
    };
  }
  return {
    kind: "write",
    ...applied,
    annotations: inThisBoot,
    action: {
      kind: "apply",
      target,
      config: config.spec.data,
      previousSha256: current?.spec.clusterMachineConfigSha256 ?? "",
    },
  };
}

/** Whether the machine has refused this very configuration. */
function isRefused(
  { spec }: Resource<typeof ClusterMachineConfigStatus>,
  { metadata }: Resource<typeof ClusterMachineConfig>,
): boolean {
  return spec.lastConfigError !== "" &&
    spec.clusterMachineConfigVersion === String(metadata.version);
}

/** A machine that was configured and is in maintenance in a later boot. */
function lostConfig({ current, stage, boot }: ConfigStatusFacts): { readonly waiting?: string } {
  const wasConfigured = current !== undefined && current.spec.clusterMachineConfigSha256 !== "";
  return wasConfigured && stage === Stage.MACHINE_STAGE_MAINTENANCE &&
      current.metadata.annotations[ANNOTATION_APPLIED_IN_BOOT] !== boot
    ? {
      waiting: "the machine is in maintenance although it was configured: " +
        "take it out of the cluster and add it again to have it set up anew",
    }
    : {};
}
