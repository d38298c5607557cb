// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One running controller: its queue, what wakes it, and what becomes of its failures.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { formatError } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import { backoffMs } from "../../base/retry.ts";
import type { Controller } from "../controller.ts";
import type { State } from "../state/state.ts";
import { collectInto } from "./collect.ts";
import type { DerivingController } from "./declaration.ts";
import { deriveFrom } from "./derive.ts";
import { fateOf } from "./failures.ts";
import type { ItemResult } from "./item.ts";
import type { EngineMetrics, ReconcileOutcome } from "./metrics.ts";
import { Outputs } from "./outputs.ts";
import type { Pacer } from "./pacer.ts";
import { createReader } from "./state_reader.ts";
import { StateWriter } from "./state_writer.ts";
import type { Timers } from "./timers.ts";
import type { Tracer } from "./tracing.ts";
import { type Subscription, subscriptionsOf } from "./subscriptions.ts";
import type { Wakes } from "./triggers.ts";
import type { WaitRegistry } from "./waits.ts";
import type { Work } from "./work.ts";
import { WorkQueue } from "./work_queue.ts";

/** What all controllers of a runtime share. */
export interface RunShared {
  readonly state: State;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics: EngineMetrics;
  readonly tracer: Tracer;
  readonly timers: Timers;
  readonly pacer: Pacer;
  readonly waits: WaitRegistry;
  readonly backoff: BackoffBounds;
  readonly signal: AbortSignal;
  readonly onFatal: (error: unknown) => void;
}

/** Bounds of the wait after a failed attempt, in milliseconds. */
export interface BackoffBounds {
  readonly initialMs: number;
  readonly maximumMs: number;
}

/** After a lost race the item is looked at again almost at once. */
const STALE_BACKOFF: BackoffBounds = { initialMs: 4, maximumMs: 1_000 };
/** Races lost in a row that are worth a line in the log. */
const STALE_ATTEMPTS_LOGGED = 10;
/** Questions to the label index that are on their way at once. */
const MAPPINGS_AT_ONCE = 2;
const EVERYTHING = "";

/** A controller while it runs. */
export class ControllerRun {
  readonly #controller: Controller;
  readonly #shared: RunShared;
  readonly #work: Work;
  readonly #queue: WorkQueue;
  /** Questions to the label index, deduplicated like items. */
  readonly #mappings: WorkQueue;
  readonly #attempts = new Map<string, number>();
  readonly #stopped = new Set<string>();
  readonly #wakes: Wakes;
  #background: Promise<void> = Promise.resolve();

  constructor(controller: Controller, shared: RunShared) {
    this.#controller = controller;
    this.#shared = shared;
    this.#work = createWork(controller, shared);
    const { timers, pacer, onFatal } = shared;
    const common = { timers, pacer, onFault: onFatal };
    this.#queue = new WorkQueue({
      ...common,
      concurrency: controller.concurrency,
      run: (id) => this.#reconcile(id),
    });
    this.#mappings = new WorkQueue({
      ...common,
      concurrency: MAPPINGS_AT_ONCE,
      run: (key) => this.#map(key),
    });
    this.#wakes = {
      item: (id, later) => this.#queue.add(id, later),
      labelled: (label, value) => this.#mappings.add(`${label}\0${value}`),
      everything: () => this.#mappings.add(EVERYTHING),
    };
  }

  get name(): string {
    return this.#controller.name;
  }

  get queueDepth(): number {
    return this.#queue.depth;
  }

  /** Whether no item is waiting for its turn or in work. */
  get isIdle(): boolean {
    return this.#queue.isIdle && this.#mappings.isIdle;
  }

  /** The kinds that this controller must hear about. */
  get subscriptions(): readonly Subscription[] {
    return subscriptionsOf(this.#controller, this.#wakes, (error, fields) => {
      this.#shared.metrics.countCrash(this.name);
      this.#shared.logger.error("mapping failed", { ...fields, controller: this.name, error });
    });
  }

  /** Lets work begin; the watches must stand. */
  start(): void {
    this.#queue.start();
    this.#mappings.start();
    this.#background = this.#work.run?.(this.#shared.signal, (id) => this.#queue.add(id)) ??
      this.#background;
  }

  /** Looks at every item again when there is nothing else to do. */
  async resync(): Promise<void> {
    for (const id of await this.#work.allIds()) {
      if (!this.#stopped.has(id)) this.#queue.add(id, true);
    }
  }

  /** Waits for the items in work; the shared signal must have aborted. */
  async stop(): Promise<void> {
    await Promise.all([this.#queue.close(), this.#mappings.close(), this.#background]);
  }

  async #map(key: string): Promise<number | undefined> {
    try {
      const [label = "", value] = key.split("\0");
      const ids = value === undefined
        ? await this.#work.allIds()
        : await this.#work.labelledIds(label, value);
      for (const id of ids) this.#queue.add(id);
      this.#attempts.delete(`\0${key}`);
      return undefined;
    } catch (error) {
      const attempt = this.#countAttempt(`\0${key}`);
      this.#shared.logger.warn("mapping failed", { controller: this.name, attempt, error });
      return this.#backoffMs(attempt, this.#shared.backoff);
    }
  }

  async #reconcile(id: string): Promise<number | undefined> {
    const { metrics, signal } = this.#shared;
    metrics.countWakeup(this.name);
    metrics.observeQueueDepth(this.name, this.#queue.depth);
    const startMs = performance.now();
    const observe = (outcome: ReconcileOutcome): void =>
      metrics.observeReconcile(this.name, outcome, (performance.now() - startMs) / 1000);
    try {
      const attributes = { controller: this.name, type: this.#itemType, id };
      const result = await this.#shared.tracer.span(
        "reconcile",
        attributes,
        () => this.#work.reconcile(id, signal),
      );
      this.#succeeded(id, result);
      observe(result.waiting === undefined ? "done" : "waiting");
      return result.retryAfterMs;
    } catch (error) {
      observe("failed");
      return signal.aborted ? undefined : this.#failed(id, error);
    }
  }

  #succeeded(id: string, { waiting, declined, blockers = [] }: ItemResult): void {
    const { waits, clock } = this.#shared;
    this.#attempts.delete(id);
    this.#stopped.delete(id);
    const reason = waiting ?? declined;
    if (reason === undefined) {
      waits.clear(this.name, id);
      return;
    }
    waits.set({
      controller: this.name,
      type: this.#itemType,
      id,
      state: waiting === undefined ? "declined" : "waiting",
      reason,
      blockers,
      attempts: 0,
      sinceMs: clock.nowMs(),
    });
  }

  #failed(id: string, error: unknown): number | undefined {
    const { logger, metrics, waits, clock, backoff } = this.#shared;
    const fate = fateOf(error);
    const attempt = this.#countAttempt(id);
    if (fate === "stale" && attempt < STALE_ATTEMPTS_LOGGED) {
      return this.#backoffMs(attempt, STALE_BACKOFF);
    }
    const stops = fate === "terminal" || fate === "broken";
    const fields = { controller: this.name, type: this.#itemType, id, attempt, error };
    if (stops) logger.error("item stopped", fields);
    else logger.warn("reconcile failed", fields);
    if (fate === "broken") metrics.countCrash(this.name);
    if (stops) this.#stopped.add(id);
    waits.set({
      controller: this.name,
      type: this.#itemType,
      id,
      state: stops ? "stopped" : "failing",
      reason: formatError(error),
      blockers: [],
      attempts: attempt,
      sinceMs: clock.nowMs(),
    });
    if (stops) return undefined;
    return this.#backoffMs(attempt, fate === "stale" ? STALE_BACKOFF : backoff);
  }

  #countAttempt(key: string): number {
    const attempt = (this.#attempts.get(key) ?? 0) + 1;
    this.#attempts.set(key, attempt);
    return attempt;
  }

  #backoffMs(attempt: number, bounds: BackoffBounds): number {
    return backoffMs(attempt, { ...bounds, random: this.#shared.random });
  }

  get #itemType(): string {
    const controller = this.#controller;
    return controller.shape === "collector" ? controller.output.type.type : controller.primary.type;
  }
}

function createWork(controller: Controller, shared: RunShared): Work {
  const { state, metrics, timers, tracer } = shared;
  const { name } = controller;
  const onRead = (): void => metrics.countRead(name);
  const onWrite = (): void => metrics.countWrite(name);
  const types = controller.mapped.map(({ type }) => type);
  if (controller.shape !== "collector") types.push(controller.primary);
  const reader = createReader({ state, controller: name, types, onRead });
  const writer = new StateWriter({ state, name, onWrite });
  const outputs = new Outputs({ state, writer, name, declaration: controller.output, onRead });
  return controller.shape === "collector"
    ? collectInto({
      ...shared,
      controller,
      reader,
      outputs,
      onCrash: () => metrics.countCrash(name),
    })
    : deriveFrom({
      controller,
      state,
      reader,
      writer,
      outputs,
      timers,
      tracer,
      onRead,
      onCall: (id, call) => noteCall(controller, shared, id, call),
    });
}

/** Shows that a call is under way, unless it repeats one that failed: that says more. */
function noteCall(
  { name, primary }: DerivingController,
  { waits, clock }: RunShared,
  id: string,
  call: "act" | "finalize",
): void {
  const present = waits.find(name, id)?.state ?? "waiting";
  if (present === "failing" || present === "stopped") return;
  waits.set({
    controller: name,
    type: primary.type,
    id,
    state: "acting",
    reason: call === "act" ? "its action is under way" : "its effect is being undone",
    blockers: [],
    attempts: 0,
    sinceMs: clock.nowMs(),
  });
}
