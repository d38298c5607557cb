// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One emulated Talos machine: a peer on the wire that joins, is configured, runs and is reset.
 *
 * It knows nothing of the server but what a real machine knows, and refuses what a real machine
 * refuses.
 *
 * @module
 */

import { codeOf } from "../base/errors.ts";
import { serveApid } from "./apid.ts";
import { type Boot, type BootEnd, createBoot, endBoot, type MachineStage } from "./boot.ts";
import { clusterIdOf, type ServiceState } from "./boot.ts";
import { emptyDisk, type Installation, type SystemDisk } from "./disk.ts";
import { sendEvents, sendKernelLines } from "./event_sink.ts";
import type { Hardware } from "./hardware.ts";
import { effectiveUuid } from "./inventory.ts";
import { keepJoined } from "./join.ts";
import type { MachineCore } from "./machine_core.ts";
import { createCore, type MachineOptions } from "./machine_options.ts";
import { requestReboot } from "./power.ts";
import { runSequences } from "./sequences.ts";
import { unmetConditions } from "./status.ts";

/** What can be seen of a machine from outside. */
export interface MachineView {
  readonly uuid: string;
  readonly hostname: string;
  readonly isOn: boolean;
  readonly stage: MachineStage | "off";
  readonly isReady: boolean;
  /** In the tunnel; empty before it has joined. */
  readonly address: string;
  readonly version: string;
  readonly clusterName: string;
  readonly isControlPlane: boolean;
  /** States of its services by ID; etcd that is `Preparing` waits to be bootstrapped. */
  readonly services: Readonly<Record<string, ServiceState>>;
}

/** A machine under a test's hands. */
export interface EmulatedMachine {
  /** The UUID of its hardware. */
  readonly uuid: string;
  readonly hardware: Hardware;
  /** Calls that reached it, by method name: `ApplyConfiguration`, `State/Watch`, `Kubernetes`. */
  readonly calls: ReadonlyMap<string, number>;
  /** The ID of its present run; changes at every boot, empty without power. */
  readonly bootId: string;
  /** The configuration in force. */
  readonly config: string | undefined;
  readonly installation: Installation | undefined;
  /** What it keeps without power. */
  readonly disk: SystemDisk;
  /** META as the next boot would see it. */
  readonly meta: ReadonlyMap<number, string>;
  /** Events that the server has not acknowledged. */
  readonly pendingEvents: number;
  view(): MachineView;
  /** Resolves once the machine looks as asked for. */
  until(condition: (view: MachineView) => boolean, signal?: AbortSignal): Promise<void>;
  /** Calls back after every change until the returned function is called. */
  onChange(listener: () => void): () => void;
  /** An orderly restart, as if typed at its console. */
  reboot(): void;
  /** Pulls the plug; resolves when nothing runs any more. */
  powerOff(): Promise<void>;
  powerOn(): void;
  /** Exchanges the disk for an empty one; only without power. */
  wipeDisk(): void;
  setLatency(ms: number): void;
  close(): Promise<void>;
}

/** Starts a machine. It boots in the background; nothing that goes wrong with it is thrown. */
export function startMachine(options: MachineOptions): EmulatedMachine {
  return new Machine(createCore(options), options.startsOff !== true);
}

/** What is logged of a part of a machine that ended with an error; it is started again. */
export const PART_FAILED = "part of an emulated machine failed";

/** How long a background part rests after a failure. */
const PART_RETRY_MS = 1_000;

class Machine implements EmulatedMachine {
  readonly #core: MachineCore;
  readonly #closing = new AbortController();
  readonly #life: Promise<void>;
  #power: AbortController | undefined;
  #boot: Boot | undefined;
  #isPowered: boolean;

  constructor(core: MachineCore, isPowered: boolean) {
    this.#core = core;
    this.#isPowered = isPowered;
    this.#life = this.#live();
  }

  get uuid(): string {
    return this.#core.hardware.uuid;
  }

  get hardware(): Hardware {
    return this.#core.hardware;
  }

  get calls(): ReadonlyMap<string, number> {
    return this.#core.calls;
  }

  get bootId(): string {
    return this.#boot?.id ?? "";
  }

  get config(): string | undefined {
    return this.#boot?.config?.text ?? this.#core.disk.config;
  }

  get installation(): Installation | undefined {
    return this.#core.disk.installation;
  }

  get disk(): SystemDisk {
    return this.#core.disk;
  }

  get meta(): ReadonlyMap<number, string> {
    return this.#core.disk.meta;
  }

  get pendingEvents(): number {
    return this.#boot?.events.size() ?? 0;
  }

  view(): MachineView {
    const boot = this.#boot;
    const facts = boot?.config?.isComplete === true ? boot.config.facts : undefined;
    return {
      uuid: boot === undefined ? this.uuid : effectiveUuid(boot),
      hostname: boot?.hostname ?? "",
      isOn: boot !== undefined,
      stage: boot?.stage ?? "off",
      isReady: boot !== undefined && unmetConditions(boot).length === 0,
      address: boot?.tunnel?.address ?? "",
      version: boot?.version ?? "",
      clusterName: facts?.clusterName ?? "",
      isControlPlane: facts?.machineType === "controlplane",
      services: Object.fromEntries([...boot?.services ?? []].map(([id, { state }]) => [id, state])),
    };
  }

  async until(condition: (view: MachineView) => boolean, signal?: AbortSignal): Promise<void> {
    await this.#core.changed.until(() => condition(this.view()), signal);
  }

  onChange(listener: () => void): () => void {
    return this.#core.changed.subscribe(listener);
  }

  reboot(): void {
    if (this.#boot !== undefined) requestReboot(this.#boot);
  }

  async powerOff(): Promise<void> {
    this.#isPowered = false;
    this.#power?.abort();
    await this.#core.changed.until(() => this.#boot === undefined);
  }

  powerOn(): void {
    this.#isPowered = true;
    this.#core.changed.fire();
  }

  wipeDisk(): void {
    if (this.#boot !== undefined) throw new TypeError("the disk of a running machine is in use");
    this.#core.disk = emptyDisk();
  }

  setLatency(ms: number): void {
    this.#core.latencyMs = ms;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#power?.abort();
    await this.#life;
  }

  async #live(): Promise<void> {
    const closing = this.#closing.signal;
    while (!closing.aborted) {
      try {
        await this.#core.changed.until(() => this.#isPowered, closing);
      } catch {
        return;
      }
      // The power may have gone again before this part was reached.
      if (closing.aborted || !this.#isPowered) continue;
      const end = await this.#run();
      if (end === "off") this.#isPowered = false;
      else await this.#core.clock.sleep(this.#core.pace.offMs, closing);
    }
  }

  /** One run; resolves when everything of it has ended. */
  async #run(): Promise<BootEnd> {
    const power = new AbortController();
    this.#power = power;
    const boot = createBoot(this.#core, power.signal);
    this.#boot = boot;
    const parts = new Set<Promise<void>>();
    const spawn = (name: string, run: () => Promise<void>): void => {
      const part = this.#keepRunning(boot, name, run).finally(() => parts.delete(part));
      parts.add(part);
    };
    spawn("siderolink", () => keepJoined(boot));
    spawn("events", () => sendEvents(boot));
    spawn("kernel log", () => sendKernelLines(boot));
    spawn("apid", () => serveApid(boot));
    const main = runSequences(boot, spawn).catch((error) => {
      if (power.signal.aborted || codeOf(error) === "cancelled") return;
      this.#core.log.warn("sequence of an emulated machine failed", { machine: this.uuid, error });
      endBoot(boot, "reboot");
    });
    await this.#core.changed.until(() => boot.end !== undefined, power.signal).catch(() => {});
    power.abort();
    await main;
    await Promise.all([...parts]);
    this.#boot = undefined;
    this.#core.changed.fire();
    return boot.end ?? "off";
  }

  async #keepRunning(boot: Boot, name: string, run: () => Promise<void>): Promise<void> {
    while (!boot.signal.aborted) {
      try {
        return await run();
      } catch (error) {
        if (boot.signal.aborted) return;
        this.#core.log.warn(PART_FAILED, {
          machine: this.uuid,
          id: name,
          cluster: clusterIdOf(boot) ?? "",
          error,
        });
        await this.#core.clock.sleep(PART_RETRY_MS, boot.signal);
      }
    }
  }
}
