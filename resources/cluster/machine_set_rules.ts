// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of a MachineSet and its nodes that need nothing but the resource.
 *
 * @module
 */

import type {
  MachineSetNodeSpecSchema,
  MachineSetSpecSchema,
} from "../../proto/gen/omni/specs_pb.ts";
import type { Metadata } from "../../cosi/resource.ts";
import {
  ANNOTATION_MACHINE_LOCKED,
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
  LABEL_WORKER_ROLE,
} from "../labels.ts";
import {
  fixedLabels,
  onRemoval,
  onWrite,
  type Refuse,
  requireLabel,
  requireMachineId,
  type Rule,
  validatorOf,
} from "../rules.ts";

type SetRule = Rule<typeof MachineSetSpecSchema>;
type NodeRule = Rule<typeof MachineSetNodeSpecSchema>;

/** The ID of a cluster's control plane ends with this; no set of workers may take it. */
const CONTROL_PLANE_SUFFIX = "-control-planes";

/** Whether a set or a node belongs to the control plane. */
export function isControlPlane({ labels }: Metadata): boolean {
  return Object.hasOwn(labels, LABEL_CONTROL_PLANE_ROLE);
}

function checkRole(metadata: Metadata, refuse: Refuse): void {
  const isWorker = Object.hasOwn(metadata.labels, LABEL_WORKER_ROLE);
  if (isControlPlane(metadata) !== isWorker) return;
  refuse(
    "metadata.labels",
    `must hold exactly one of ${LABEL_CONTROL_PLANE_ROLE} and ${LABEL_WORKER_ROLE}`,
  );
}

const checkSetLabels: SetRule = ({ metadata }, refuse) => {
  requireLabel(metadata, LABEL_CLUSTER, refuse);
  checkRole(metadata, refuse);
  const reserved = `${metadata.labels[LABEL_CLUSTER]}${CONTROL_PLANE_SUFFIX}`;
  if (!isControlPlane(metadata) && metadata.id === reserved) {
    refuse("metadata.id", "is reserved for the control plane", metadata.id);
  }
};

const checkAllocation: SetRule = ({ spec }, refuse) => {
  const { machineAllocation, machineClass } = spec;
  if (machineAllocation !== undefined && machineClass !== undefined) {
    refuse("spec.machineClass", "must not be given beside spec.machineAllocation");
  }
  const allocation = machineAllocation ?? machineClass;
  if (allocation !== undefined && allocation.name === "") {
    const field = machineAllocation === undefined ? "machineClass" : "machineAllocation";
    refuse(`spec.${field}.name`, "is required");
  }
};

const checkBootstrap: SetRule = ({ metadata, spec: { bootstrapSpec }, stored }, refuse) => {
  if (stored !== undefined && stored.spec.bootstrapSpec === undefined && bootstrapSpec) {
    refuse("spec.bootstrapSpec", "must be given when the set is created");
  } else if (bootstrapSpec !== undefined && !isControlPlane(metadata)) {
    refuse("spec.bootstrapSpec", "is only for the control plane");
  } else if (bootstrapSpec !== undefined) {
    // An empty cluster in place of the backup is worse than none.
    refuse("spec.bootstrapSpec", "is not supported yet: this server restores no backups");
  }
};

const checkStrategies: SetRule = ({ metadata, spec }, refuse) => {
  const configs = [
    ["updateStrategyConfig", spec.updateStrategyConfig],
    ["deleteStrategyConfig", spec.deleteStrategyConfig],
    ["upgradeStrategyConfig", spec.upgradeStrategyConfig],
  ] as const;
  for (const [field, config] of configs) {
    const parallel = config?.rolling?.maxParallelism ?? 0;
    if (!isControlPlane(metadata) || parallel <= 1) continue;
    const path = `spec.${field}.rolling.maxParallelism`;
    refuse(path, "must be at most 1 for the control plane", parallel);
  }
};

/** Validates a MachineSet. */
export const validateMachineSet = validatorOf<typeof MachineSetSpecSchema>(
  onWrite(checkSetLabels),
  onWrite(fixedLabels(LABEL_CLUSTER, LABEL_CONTROL_PLANE_ROLE, LABEL_WORKER_ROLE)),
  onWrite(checkAllocation),
  onWrite(checkBootstrap),
  onWrite(checkStrategies),
);

const checkNodeLabels: NodeRule = ({ metadata }, refuse) => {
  requireLabel(metadata, LABEL_CLUSTER, refuse);
  requireLabel(metadata, LABEL_MACHINE_SET, refuse);
  checkRole(metadata, refuse);
};

function isLocked({ annotations }: Metadata): boolean {
  return Object.hasOwn(annotations, ANNOTATION_MACHINE_LOCKED);
}

const checkNodeLock: NodeRule = ({ metadata }, refuse) => {
  if (!isLocked(metadata) || !isControlPlane(metadata)) return;
  refuse(
    `metadata.annotations["${ANNOTATION_MACHINE_LOCKED}"]`,
    "is not allowed on the control plane, whose machines cannot be locked",
  );
};

const checkLockedRemoval: NodeRule = ({ metadata }, refuse) => {
  if (!isLocked(metadata)) return;
  refuse("the machine", `is locked by the annotation ${ANNOTATION_MACHINE_LOCKED}`);
};

/** Validates a MachineSetNode. */
export const validateMachineSetNode = validatorOf<typeof MachineSetNodeSpecSchema>(
  requireMachineId(),
  onWrite(checkNodeLabels),
  onWrite(
    fixedLabels(LABEL_CLUSTER, LABEL_MACHINE_SET, LABEL_CONTROL_PLANE_ROLE, LABEL_WORKER_ROLE),
  ),
  onWrite(checkNodeLock),
  onRemoval(checkLockedRemoval),
);
