// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps what a machine says about itself true: each change of state goes to its resources and to its
 * events at once.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  MachineStatusEvent_MachineStage as EventStage,
  MachineStatusEventSchema,
  ServiceHealthSchema,
  ServiceStateEvent_Action as ServiceAction,
  ServiceStateEventSchema,
} from "../proto/gen/talos/machine_pb.ts";
import { RuntimeMachineStage as Stage } from "../proto/gen/talos/resource/enums_pb.ts";
import {
  MachineStatusSpecSchema,
  MetaKeySpecSchema,
  UniqueMachineTokenSpecSchema,
} from "../proto/gen/talos/resource/runtime_pb.ts";
import { ServiceSpecSchema } from "../proto/gen/talos/resource/v1alpha1_pb.ts";
import { type Boot, isConfigured, isControlPlane, type MachineStage } from "./boot.ts";
import type { ServiceState } from "./boot.ts";

/** The META key of the machine's unique token. */
export const META_UNIQUE_TOKEN = 0x10;

/** The META key of a UUID that replaces the one of the hardware. */
export const META_UUID_OVERRIDE = 0x0f;

const STAGES: Readonly<
  Record<MachineStage, { readonly resource: Stage; readonly event: EventStage }>
> = {
  "booting": { resource: Stage.MACHINE_STAGE_BOOTING, event: EventStage.BOOTING },
  "installing": { resource: Stage.MACHINE_STAGE_INSTALLING, event: EventStage.INSTALLING },
  "maintenance": { resource: Stage.MACHINE_STAGE_MAINTENANCE, event: EventStage.MAINTENANCE },
  "running": { resource: Stage.MACHINE_STAGE_RUNNING, event: EventStage.RUNNING },
  "rebooting": { resource: Stage.MACHINE_STAGE_REBOOTING, event: EventStage.REBOOTING },
  "shutting down": {
    resource: Stage.MACHINE_STAGE_SHUTTING_DOWN,
    event: EventStage.SHUTTING_DOWN,
  },
  "resetting": { resource: Stage.MACHINE_STAGE_RESETTING, event: EventStage.RESETTING },
  "upgrading": { resource: Stage.MACHINE_STAGE_UPGRADING, event: EventStage.UPGRADING },
};

const ACTIONS: Readonly<Record<ServiceState, ServiceAction>> = {
  Preparing: ServiceAction.PREPARING,
  Waiting: ServiceAction.WAITING,
  Running: ServiceAction.RUNNING,
  Finished: ServiceAction.FINISHED,
  Failed: ServiceAction.FAILED,
};

/** A condition that keeps a machine from being ready. */
export interface UnmetCondition {
  readonly name: string;
  readonly reason: string;
}

/** The services that a configured machine needs for being ready. */
export function requiredServices(boot: Boot): readonly string[] {
  const common = ["apid", "containerd", "cri", "kubelet", "machined", "udevd"];
  return isControlPlane(boot) ? [...common, "etcd", "trustd"].sort() : common;
}

/** What keeps a machine from being ready; only booting and running machines are judged. */
export function unmetConditions(boot: Boot): UnmetCondition[] {
  if (boot.stage !== "booting" && boot.stage !== "running") return [];
  if (!isConfigured(boot)) {
    return [{ name: "network", reason: "waiting on: address, connectivity" }];
  }
  const failing = requiredServices(boot).flatMap((id) => {
    const service = boot.services.get(id);
    if (service?.state !== "Running") return [`${id} not running`];
    return service.isHealthy ? [] : [`${id} not healthy`];
  });
  const unmet: UnmetCondition[] = [];
  if (failing.length > 0) unmet.push({ name: "services", reason: failing.join(", ") });
  if (!boot.isNodeReady) {
    unmet.push({ name: "nodeReady", reason: `node "${boot.hostname}" status is not ready` });
  }
  return unmet;
}

/** Moves a machine to a stage. */
export function setStage(boot: Boot, stage: MachineStage): void {
  if (boot.stage !== stage) boot.kernelLog.write("info", `[talos] machine is ${stage}`);
  boot.stage = stage;
  publishStatus(boot);
}

/** Tells stage and readiness where they changed. */
export function publishStatus(boot: Boot): void {
  const unmet = unmetConditions(boot);
  const { resource, event } = STAGES[boot.stage];
  const status = { ready: unmet.length === 0, unmetConditions: unmet };
  const spec = create(MachineStatusSpecSchema, { stage: resource, status });
  const before = boot.resources.position();
  boot.resources.put(
    "MachineStatuses.runtime.talos.dev",
    "machine",
    MachineStatusSpecSchema,
    spec,
  );
  if (boot.resources.position() !== before) {
    boot.events.push(
      MachineStatusEventSchema,
      create(MachineStatusEventSchema, { stage: event, status }),
    );
  }
  boot.core.changed.fire();
}

/** Moves a service to a state. */
export function setService(boot: Boot, id: string, state: ServiceState, message = ""): void {
  const isHealthy = state === "Running";
  const changedMs = boot.core.clock.nowMs();
  boot.services.set(id, { state, isHealthy, message, changedMs });
  boot.resources.put(
    "Services.v1alpha1.talos.dev",
    id,
    ServiceSpecSchema,
    create(ServiceSpecSchema, { running: state === "Running", healthy: isHealthy }),
  );
  boot.events.push(
    ServiceStateEventSchema,
    create(ServiceStateEventSchema, {
      service: id,
      action: ACTIONS[state],
      message,
      health: create(ServiceHealthSchema, {
        healthy: isHealthy,
        lastChange: timestampFromMs(changedMs),
      }),
    }),
  );
  publishStatus(boot);
}

/** Writes or deletes a value of META; an installed machine keeps it. False when there was none. */
export function setMeta(boot: Boot, key: number, value: string | undefined): boolean {
  const stores = boot.core.disk.installation === undefined
    ? [boot.meta]
    : [boot.meta, boot.core.disk.meta];
  const existed = boot.meta.has(key);
  for (const store of stores) {
    if (value === undefined) store.delete(key);
    else store.set(key, value);
  }
  publishMeta(boot, key);
  return existed;
}

/** Makes the resources of one META key agree with it. */
export function publishMeta(boot: Boot, key: number): void {
  const value = boot.meta.get(key);
  const id = `0x${key.toString(16).padStart(2, "0")}`;
  if (value === undefined) boot.resources.remove("MetaKeys.runtime.talos.dev", id);
  else {
    boot.resources.put(
      "MetaKeys.runtime.talos.dev",
      id,
      MetaKeySpecSchema,
      create(MetaKeySpecSchema, { value }),
    );
  }
  if (key === META_UNIQUE_TOKEN) {
    boot.resources.put(
      "UniqueMachineTokens.runtime.talos.dev",
      "unique-machine-token",
      UniqueMachineTokenSpecSchema,
      create(UniqueMachineTokenSpecSchema, { token: value ?? "" }),
    );
  }
  boot.core.changed.fire();
}
