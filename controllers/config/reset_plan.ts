// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * When a machine that leaves its cluster is reset, and when it is free.
 *
 * @module
 */

import type { Plan } from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { RuntimeMachineStage as Stage } from "../../proto/gen/talos/resource/enums_pb.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import type { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import {
  ANNOTATION_APPLIED_IN_BOOT,
  ANNOTATION_APPLYING_SHA256,
  ANNOTATION_RESET_IN_BOOT,
  LABEL_CONTROL_PLANE_ROLE,
} from "../../resources/labels.ts";
import { type ConfigAction, type ConfigStatusFacts, kept } from "./config_facts.ts";

/** Looks again at a machine that resets, in ms; events usually come first. */
const RESET_LOOK_AGAIN_MS = 10_000;

/** Decides about a machine that is to be given back. */
export function planReset(
  machine: Resource<typeof ClusterMachine>,
  facts: ConfigStatusFacts,
): Plan<typeof ClusterMachineConfigStatus, ConfigAction> {
  const { current, forced, boot, isConnected, target } = facts;
  if (current === undefined) return destroy("the machine was never configured");
  const { annotations } = current.metadata;
  const isConfigured = current.spec.clusterMachineConfigSha256 !== "";
  if (!isConfigured && annotations[ANNOTATION_APPLYING_SHA256] === undefined) {
    return destroy("the machine was never configured");
  }
  if (target === undefined) return destroy("the machine is gone");
  if (forced !== undefined) return destroy("its removal is forced");
  const resetIn = annotations[ANNOTATION_RESET_IN_BOOT];
  const isInMaintenance = facts.stage === Stage.MACHINE_STAGE_MAINTENANCE;
  const isAnotherBoot = annotations[ANNOTATION_APPLIED_IN_BOOT] !== boot;
  if (isInMaintenance && (isAnotherBoot || !isConfigured && resetIn === boot)) {
    return destroy("the machine is in maintenance");
  }
  const keep = kept(machine, current);
  if (!isConnected) {
    return {
      ...keep,
      waiting: "the machine must be reset and is not connected: " +
        "connect it, or create a NodeForceDestroyRequest with its ID",
    };
  }
  const waiting = "the machine is being reset";
  if (isInMaintenance && isConfigured) {
    return {
      ...keep,
      waiting: "the machine has just got its configuration: it is reset once it runs",
      retryAfterMs: RESET_LOOK_AGAIN_MS,
    };
  }
  // Only a machine that is up again with its configuration needs to be told a second time.
  if (
    resetIn !== undefined && (resetIn === boot || facts.stage !== Stage.MACHINE_STAGE_RUNNING)
  ) return { ...keep, waiting, retryAfterMs: RESET_LOOK_AGAIN_MS };
  const leavesEtcd = LABEL_CONTROL_PLANE_ROLE in machine.metadata.labels &&
    facts.otherEtcdMembers > 0;
  return {
    ...keep,
    annotations: { ...annotations, [ANNOTATION_RESET_IN_BOOT]: boot },
    waiting,
    retryAfterMs: isInMaintenance ? 0 : RESET_LOOK_AGAIN_MS,
    action: isInMaintenance ? { kind: "check", target } : {
      kind: "reset",
      target,
      leavesEtcd,
      etcdPeer: facts.etcdPeer,
    },
  };
}

function destroy(reason: string): { readonly kind: "destroy"; readonly reason: string } {
  return { kind: "destroy", reason };
}
