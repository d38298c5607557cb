// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One run of a machine, from power-on to power-off: what is in its memory.
 *
 * @module
 */

import { Code as ErrorKind, ErrorSchema } from "../proto/gen/talos/common_pb.ts";
import { create } from "@bufbuild/protobuf";
import {
  PhaseEvent_Action,
  PhaseEventSchema,
  SequenceEvent_Action,
  SequenceEventSchema,
} from "../proto/gen/talos/machine_pb.ts";
import type { TunnelNet } from "../link/tunnel_net.ts";
import type { CertificateAndKey } from "../talos/config/pki.ts";
import { createEventQueue, createXids, type EventQueue } from "./events.ts";
import { createKernelLog, type KernelLog } from "./kernel_log.ts";
import type { MachineConfig } from "./machine_config.ts";
import type { MachineCore } from "./machine_core.ts";
import { createResourceStore, type ResourceStore } from "./resource_store.ts";

/** The stages of a machine, in the words of its resources. */
export type MachineStage =
  | "booting"
  | "installing"
  | "maintenance"
  | "running"
  | "rebooting"
  | "shutting down"
  | "resetting"
  | "upgrading";

/** How a run ends. */
export type BootEnd = "reboot" | "off";

/** The states of a service. */
export type ServiceState = "Preparing" | "Waiting" | "Running" | "Finished" | "Failed";

/** A service as it is listed. */
export interface ServiceStatus {
  readonly state: ServiceState;
  readonly isHealthy: boolean;
  readonly message: string;
  readonly changedMs: number;
}

/** The machine's side of the tunnel. */
export interface Tunnel {
  /** The machine's own address. */
  readonly address: string;
  readonly serverAddress: string;
  readonly net: TunnelNet;
  /** Its packets go over gRPC instead of UDP. */
  readonly isOverGrpc: boolean;
}

/** How the machine API answers. */
export type ApidMode =
  /** Anybody may come, with TLS that proves nothing. */
  | { readonly kind: "maintenance" }
  | {
    readonly kind: "mtls";
    readonly certificate: CertificateAndKey;
    /** Certificates of the authorities whose clients are let in, PEM. */
    readonly authorities: string;
  };

/** One run of a machine. */
export interface Boot {
  readonly core: MachineCore;
  readonly id: string;
  readonly startedMs: number;
  /** The Talos that runs, with `v`. */
  readonly version: string;
  readonly schematic: string;
  /** Aborts when the power goes. */
  readonly signal: AbortSignal;
  readonly resources: ResourceStore;
  readonly events: EventQueue;
  readonly kernelLog: KernelLog;
  readonly services: Map<string, ServiceStatus>;
  /** References of the container images that were pulled. */
  readonly images: Set<string>;
  /** META as the running system sees it; on an installed machine each write reaches the disk too. */
  readonly meta: Map<number, string>;
  stage: MachineStage;
  /** What is in force; partial ones leave the machine in maintenance. */
  config: MachineConfig | undefined;
  hostname: string;
  tunnel: Tunnel | undefined;
  /** How the machine API answers; absent while nothing listens. */
  apid: ApidMode | undefined;
  /** A change that must not overlap with another: `apply`, `install`, `upgrade`. */
  busyWith: string | undefined;
  isNodeReady: boolean;
  /** Set once; the first caller decides how the run ends. */
  end: BootEnd | undefined;
}

/** Starts a run in memory; nothing happens yet. */
export function createBoot(core: MachineCore, signal: AbortSignal): Boot {
  const nowMs = (): number => core.clock.nowMs();
  const { installation } = core.disk;
  return {
    core,
    id: crypto.randomUUID(),
    startedMs: nowMs(),
    version: installation?.version ?? core.mediaVersion,
    schematic: installation?.schematic ?? core.mediaSchematic,
    signal,
    resources: createResourceStore(nowMs),
    events: createEventQueue(createXids(nowMs)),
    kernelLog: createKernelLog(nowMs),
    services: new Map(),
    images: new Set(),
    meta: new Map(core.disk.meta),
    stage: "booting",
    config: undefined,
    hostname: "",
    tunnel: undefined,
    apid: undefined,
    busyWith: undefined,
    isNodeReady: false,
    end: undefined,
  };
}

/** Whether a machine has a role in a cluster. */
export function isConfigured({ config }: Boot): boolean {
  return config?.isComplete === true;
}

/** Whether a machine runs a control plane. */
export function isControlPlane({ config }: Boot): boolean {
  return config?.isComplete === true && config.facts.machineType === "controlplane";
}

/** The cluster that a machine belongs to, or `undefined`. */
export function clusterIdOf({ config }: Boot): string | undefined {
  return config?.isComplete === true ? config.facts.clusterId : undefined;
}

/** Ends a run; a second call changes nothing. */
export function endBoot(boot: Boot, how: BootEnd): void {
  boot.end ??= how;
  boot.core.changed.fire();
}

/** Runs a named sequence, with its events around it; the error of a failed one is told and thrown. */
export async function inSequence<T>(boot: Boot, name: string, run: () => Promise<T>): Promise<T> {
  const tell = (action: SequenceEvent_Action, error?: unknown): void => {
    const details = error === undefined ? {} : {
      error: create(ErrorSchema, {
        code: ErrorKind.FATAL,
        message: error instanceof Error ? error.message : String(error),
      }),
    };
    boot.events.push(
      SequenceEventSchema,
      create(SequenceEventSchema, { sequence: name, action, ...details }),
    );
  };
  boot.kernelLog.write("info", `[talos] ${name} sequence: starting`);
  tell(SequenceEvent_Action.START);
  try {
    const result = await run();
    tell(SequenceEvent_Action.STOP);
    boot.kernelLog.write("info", `[talos] ${name} sequence: done`);
    return result;
  } catch (error) {
    // A run that lost its power tells nothing any more.
    if (!boot.signal.aborted) {
      boot.kernelLog.write("error", `[talos] ${name} sequence: failed`);
      tell(SequenceEvent_Action.NOOP, error);
    }
    throw error;
  }
}

/** Runs a named phase of a sequence that takes `ms` milliseconds. */
export async function inPhase(boot: Boot, phase: string, ms: number): Promise<void> {
  const tell = (action: PhaseEvent_Action): void =>
    void boot.events.push(PhaseEventSchema, create(PhaseEventSchema, { phase, action }));
  tell(PhaseEvent_Action.START);
  await boot.core.clock.sleep(ms, boot.signal);
  boot.signal.throwIfAborted();
  tell(PhaseEvent_Action.STOP);
}
