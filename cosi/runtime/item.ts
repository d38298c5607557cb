// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the engine does with one item of a transform or an effect, from reading to writing.
 *
 * The order is the contract: finalizers before `act`, `act` before the outputs; backwards, the
 * outputs go before `finalize`, and `finalize` before the finalizers.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Desired, Plan, PlanMany, Reader, Wait, Write, WriteMany } from "../controller.ts";
import type { Ref, Resource, ResourceType } from "../resource.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { State } from "../state/state.ts";
import { Deadline } from "./deadline.ts";
import type { DerivingController } from "./declaration.ts";
import { BrokenInvariant } from "./failures.ts";
import type { Outputs, StoredOutputs } from "./outputs.ts";
import { decoded, findRaw } from "./state_reader.ts";
import type { StateWriter } from "./state_writer.ts";
import type { Timers } from "./timers.ts";
import type { Tracer } from "./tracing.ts";

/** How an item stands after a reconcile that did not fail. */
export interface ItemResult {
  /** Why the item is not where it should be; absent when it is. */
  readonly waiting?: string;
  /** Why there shall be no output for an item that exists. */
  readonly declined?: string;
  /** What it waits for, where the engine knows. */
  readonly blockers?: readonly Ref[];
  readonly retryAfterMs?: number;
}

/** What {@linkcode Item} needs. */
export interface ItemOptions {
  readonly controller: DerivingController;
  readonly state: State;
  readonly reader: Reader<ResourceType>;
  readonly writer: StateWriter;
  readonly outputs: Outputs;
  readonly timers: Timers;
  readonly tracer: Tracer;
  readonly onRead: () => void;
  /** Hears that a call to the outside begins for an item. */
  readonly onCall: (id: string, call: "act" | "finalize") => void;
}

type AnyPlan = Plan<ResourceType, unknown> | PlanMany<ResourceType, unknown>;
type AnyWrite = Write<ResourceType, unknown> | WriteMany<ResourceType, unknown>;

const DONE: ItemResult = {};

/** The protocol of one controller's items. */
export class Item {
  readonly #options: ItemOptions;

  constructor(options: ItemOptions) {
    this.#options = options;
  }

  /** Brings one item nearer to where its inputs want it. */
  async reconcile(id: string, signal: AbortSignal): Promise<ItemResult> {
    const { controller, timers } = this.#options;
    const deadline = new Deadline({ timers, timeoutMs: controller.actTimeoutMs, signal });
    try {
      return await new Run(this.#options, id, deadline).reconcile();
    } finally {
      deadline.release();
    }
  }
}

/** One reconcile of one item. */
class Run {
  readonly #options: ItemOptions;
  readonly #id: string;
  readonly #deadline: Deadline;

  constructor(options: ItemOptions, id: string, deadline: Deadline) {
    this.#options = options;
    this.#id = id;
    this.#deadline = deadline;
  }

  async reconcile(): Promise<ItemResult> {
    const { controller } = this.#options;
    const raw = await this.#find(controller.primary);
    if (raw === undefined) return await this.#sweep();
    const primary = decoded(controller.primary, raw);
    const isHeld = raw.metadata.finalizers.includes(controller.name);
    const inputs = await this.#heldInputs();
    if ([raw, ...inputs].some(({ metadata }) => metadata.phase === "tearingDown")) {
      // Without the finalizer the primary may vanish at any moment: nothing is begun any more.
      const mayPlan = controller.plansTeardown && (isHeld || !controller.keepsPrimary);
      if (!mayPlan) return await this.#release(raw, primary);
    }
    const facts = await this.#gather(primary);
    const plan = this.#plan(primary, facts);
    switch (plan.kind) {
      case "wait":
        return waitingFor(plan);
      case "destroy": {
        const result = await this.#release(raw, primary);
        if (result.waiting !== undefined || raw.metadata.phase !== "running") return result;
        return { declined: plan.reason };
      }
      case "write":
        await this.#hold(controller.keepsPrimary ? [...inputs, raw] : inputs);
        return await this.#write(primary, facts, plan);
    }
  }

  /** Removes what a primary left behind that is gone. */
  async #sweep(): Promise<ItemResult> {
    const { outputs } = this.#options;
    const remaining = await outputs.removeAll(this.#id);
    if (remaining.length > 0) return blockedBy(remaining);
    await this.#letGoInputs();
    return DONE;
  }

  async #release(raw: RawResource, primary: Resource<ResourceType>): Promise<ItemResult> {
    const { controller, outputs, writer } = this.#options;
    const remaining = await outputs.removeAll(this.#id);
    if (remaining.length > 0) return blockedBy(remaining);
    // Without the finalizer nothing was ever done that could be undone.
    const mustFinalize = raw.metadata.finalizers.includes(controller.name);
    if (mustFinalize && controller.finalize !== undefined) {
      // Read now, so that an output that is read back is absent however often this is repeated.
      const facts = await this.#gather(primary);
      const { signal } = this.#deadline;
      const wait = await this.#call(
        "finalize",
        async () => await controller.finalize?.(primary, { facts, signal }),
      );
      if (wait !== undefined) return waitingFor(wait);
    }
    await this.#letGoInputs();
    if (mustFinalize) await writer.removeFinalizer(raw);
    return DONE;
  }

  async #write(
    primary: Resource<ResourceType>,
    facts: unknown,
    plan: AnyWrite,
  ): Promise<ItemResult> {
    const { controller, outputs } = this.#options;
    const desired = this.#desired(primary, plan);
    const stored = await outputs.of(this.#id);
    const remaining = await outputs.clear(stored, new Set(desired.keys()));
    const blocked = new Set(remaining.map(({ metadata }) => metadata.id));
    let observed: Record<string, unknown> | undefined;
    if (plan.action !== undefined) {
      if (controller.act === undefined) {
        throw new BrokenInvariant(`Controller "${controller.name}" plans an action but has no act`);
      }
      // The effect would contradict an output that says it is being undone.
      if ([...desired.keys()].some((id) => blocked.has(id))) return blockedBy(remaining);
      const { signal } = this.#deadline;
      const result = await this.#call(
        "act",
        async () => await controller.act?.(primary, plan.action, { facts, signal }),
      );
      observed = result as Record<string, unknown> | undefined;
    }
    await this.#writeAll(desired, stored, blocked, observed);
    if (remaining.length > 0) return blockedBy(remaining);
    const { waiting, retryAfterMs } = plan;
    return {
      ...(waiting === undefined ? {} : { waiting }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }

  async #writeAll(
    desired: ReadonlyMap<string, Desired<ResourceType>>,
    stored: StoredOutputs,
    blocked: ReadonlySet<string>,
    observed: Record<string, unknown> | undefined,
  ): Promise<void> {
    for (const [id, output] of desired) {
      if (blocked.has(id)) continue;
      await this.#options.outputs.write(
        this.#id,
        id,
        observed === undefined ? output : { ...output, spec: { ...output.spec, ...observed } },
        stored.get(id),
      );
    }
  }

  #desired(
    primary: Resource<ResourceType>,
    plan: AnyWrite,
  ): ReadonlyMap<string, Desired<ResourceType>> {
    if ("outputs" in plan) return plan.outputs;
    const { controller } = this.#options;
    const id = controller.outputId === undefined ? this.#id : controller.outputId(primary);
    return new Map([[id, plan]]);
  }

  /** A call that leaves the engine. */
  #call<T>(name: "act" | "finalize", call: () => Promise<T>): Promise<T> {
    const { controller, tracer, onCall } = this.#options;
    onCall(this.#id, name);
    return tracer.span(name, { controller: controller.name, id: this.#id }, call);
  }

  async #gather(primary: Resource<ResourceType>): Promise<unknown> {
    const { controller, reader } = this.#options;
    return await controller.gather?.(primary, reader, this.#deadline);
  }

  #plan(primary: Resource<ResourceType>, facts: unknown): AnyPlan {
    const { controller } = this.#options;
    try {
      return controller.plan(primary, facts);
    } catch (cause) {
      throw new BrokenInvariant(`Plan of controller "${controller.name}" threw`, { cause });
    }
  }

  /** Holds what must outlive everything that is begun from here on. */
  async #hold(resources: readonly RawResource[]): Promise<void> {
    const { controller, writer } = this.#options;
    for (const resource of resources) {
      const { phase, finalizers } = resource.metadata;
      if (phase !== "running" || finalizers.includes(controller.name)) continue;
      await writer.addFinalizer(resource);
    }
  }

  async #letGoInputs(): Promise<void> {
    for (const input of await this.#heldInputs()) {
      await this.#options.writer.removeFinalizer(input);
    }
  }

  async #heldInputs(): Promise<readonly RawResource[]> {
    const inputs: RawResource[] = [];
    for (const { type, held } of this.#options.controller.mapped) {
      if (!held) continue;
      const input = await this.#find(type);
      if (input !== undefined) inputs.push(input);
    }
    return inputs;
  }

  #find(type: ResourceType): Promise<RawResource | undefined> {
    const { state, onRead } = this.#options;
    onRead();
    return findRaw(state, { namespace: type.namespace, type: type.type, id: this.#id });
  }
}

function waitingFor({ reason, retryAfterMs }: Wait): ItemResult {
  return { waiting: reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** The result of an item whose outputs are still held by others. */
export function blockedBy(remaining: readonly RawResource[]): ItemResult {
  const [first] = remaining;
  if (first === undefined) throw new CodedError("internal", "Blocked by nothing");
  const { type, id, finalizers } = first.metadata;
  const more = remaining.length === 1 ? "" : ` and ${remaining.length - 1} more`;
  return {
    waiting: `"${type}" "${id}" is being torn down and held by ${finalizers.join(", ")}${more}`,
    blockers: remaining.map(({ metadata: { namespace, type, id } }) => ({ namespace, type, id })),
  };
}
