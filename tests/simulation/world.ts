// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A state, an engine and a device in virtual time, with faults between them.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { faultyState, type StateCall } from "../../cosi/test_faults.ts";
import { type Runtime, startRuntime } from "../../cosi/runtime/runtime.ts";
import { openState, type StateCore } from "../../cosi/state/core.ts";
import type { State, StateEvent } from "../../cosi/state/state.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { Chance } from "./chance.ts";
import {
  OUTPUT_TYPES,
  Port,
  simulatedControllers,
  Source,
  Target,
  USER_TYPES,
} from "./controllers.ts";
import { Device } from "./device.ts";
import { VirtualClock } from "./virtual_clock.ts";

const NEVER_MS = 1e12;

/** Everything of one run. */
export class World {
  readonly chance: Chance;
  readonly clock = new VirtualClock();
  readonly device: Device;
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  /** The probability that a call of the state or the device fails. */
  faultRate = 0;
  /** Writes of controllers that succeeded. */
  writes = 0;
  #state: StateCore | undefined;
  #runtime: Runtime | undefined;
  #isDead = false;
  readonly #monitors = new AbortController();
  readonly #monitoring: Promise<void>[] = [];

  private constructor(seed: number) {
    this.chance = new Chance(seed);
    this.device = new Device({
      clock: this.clock,
      chance: this.chance,
      faultRate: () => this.faultRate,
      onViolation: (text) => this.#violate(text),
    });
  }

  /** Opens an empty state; the engine is not started yet. */
  static async open(seed: number): Promise<World> {
    const world = new World(seed);
    const state = await openState({ store: openMemoryStore(), clock: world.clock });
    world.#state = state;
    for (const { namespace, type } of [...USER_TYPES, ...OUTPUT_TYPES]) {
      const watch = await state.watchKind({ namespace, type }, { signal: world.#monitors.signal });
      world.#monitoring.push(world.#monitor(watch));
    }
    return world;
  }

  /** The state as users see it: without faults. */
  get state(): StateCore {
    if (this.#state === undefined) throw new Error("The world is not open");
    return this.#state;
  }

  get runtime(): Runtime | undefined {
    return this.#runtime;
  }

  /** Starts the engine. */
  start(): void {
    if (this.#runtime !== undefined) return;
    this.#isDead = false;
    const faultRate = (): number => this.faultRate;
    this.#runtime = startRuntime({
      state: this.#connect(),
      controllers: simulatedControllers(this.device, this.chance, faultRate),
      destroys: USER_TYPES,
      clock: this.clock,
      random: this.chance.next,
      backoff: { initialMs: 10, maximumMs: 5_000 },
      // A resync would make good for an event that was lost: here every event must count.
      resyncMs: NEVER_MS,
      // Pauses by the real clock would make runs differ.
      sliceMs: Number.POSITIVE_INFINITY,
      onFatal: (error) => this.#violate(`fatal: ${error}`),
    });
  }

  /** Stops the engine; `crash` cuts it off from the state first, in the middle of what it does. */
  async stop(crash: boolean): Promise<void> {
    const runtime = this.#runtime;
    if (runtime === undefined) return;
    this.#runtime = undefined;
    this.#isDead = crash;
    let stopped = false;
    const stopping = runtime.stop().finally(() => void (stopped = true));
    while (!stopped) await this.clock.advance(10);
    await stopping;
  }

  async close(): Promise<void> {
    await this.stop(false);
    this.#monitors.abort();
    await Promise.all(this.#monitoring);
    await this.state.close();
  }

  /** Writes down what happened, for the replay of a seed. */
  note(text: string): void {
    this.trace.push(`${this.clock.nowMs() % 1e9} ${text}`);
  }

  #violate(text: string): void {
    this.note(`VIOLATION ${text}`);
    this.violations.push(text);
  }

  /** The state as one life of the engine sees it. */
  #connect(): State {
    const fail = (): void => {
      if (this.#isDead) throw new CodedError("unavailable", "The process is dead");
      if (this.chance.happens(this.faultRate)) {
        throw new CodedError("unavailable", "The store does not answer");
      }
    };
    return faultyState(this.state, {
      before: async () => {
        if (this.chance.happens(0.5)) await this.clock.sleep(this.chance.below(3));
        fail();
      },
      after: async (call) => {
        this.#count(call);
        if (this.chance.happens(0.3)) await this.clock.sleep(this.chance.below(3));
        fail();
      },
      onEvents: () => {
        if (this.chance.happens(this.faultRate / 4)) {
          throw new CodedError("resourceExhausted", "Watch overran");
        }
      },
    });
  }

  #count({ verb, on }: StateCall): void {
    if (verb === "get" || verb === "list" || verb === "watchKind") return;
    this.writes += 1;
    this.note(`${verb} ${on.type} ${"id" in on ? on.id : ""}`);
  }

  async #monitor(watch: AsyncIterable<readonly StateEvent[]>): Promise<void> {
    for await (const events of watch) events.forEach((event) => this.#inspect(event));
  }

  /** What must never be seen in the state, whatever fails. */
  #inspect({ type, resource, old }: StateEvent): void {
    const { metadata } = resource;
    const name = `${metadata.type} ${metadata.id}`;
    if (type === "destroyed" && metadata.type === Source.type) {
      const value = this.device.values.get(metadata.id);
      if (value !== undefined) this.#violate(`${name} is gone, the device still holds "${value}"`);
      for (const { namespace, type } of [Target, Port]) {
        const left = this.state.peek({ namespace, type, id: metadata.id });
        if (left !== undefined) this.#violate(`${name} is gone before its output in ${type}`);
      }
    }
    if (type !== "updated" || old === undefined) return;
    if (metadata.type === Port.type) {
      const [before, after] = [old.decode(Port.schema).linkId, resource.decode(Port.schema).linkId];
      if (before !== after) this.#violate(`${name} changed from ${before} to ${after}`);
    }
    if (old.metadata.phase !== "tearingDown") return;
    if (old.protoSpec.join() !== resource.protoSpec.join()) {
      this.#violate(`${name} was changed while it was torn down`);
    }
    const added = metadata.finalizers.filter((each) => !old.metadata.finalizers.includes(each));
    if (added.length > 0) this.#violate(`${name} got ${added.join()} while it was torn down`);
  }
}
