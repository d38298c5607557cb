// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Collectors: one item for each ID that an adapter observed.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import type { Logger } from "../../base/log.ts";
import { backoffMs } from "../../base/retry.ts";
import type { Observation } from "../collector.ts";
import type { Plan, Reader } from "../controller.ts";
import type { ResourceType } from "../resource.ts";
import type { State } from "../state/state.ts";
import type { CollectingController } from "./declaration.ts";
import { BrokenInvariant } from "./failures.ts";
import type { ItemResult } from "./item.ts";
import { blockedBy } from "./item.ts";
import type { Outputs } from "./outputs.ts";
import type { Pacer } from "./pacer.ts";
import { labelEquals } from "./state_reader.ts";
import { idsOf, type Work } from "./work.ts";

/** What {@linkcode collectInto} needs. */
export interface CollectOptions {
  readonly controller: CollectingController;
  readonly state: State;
  readonly reader: Reader<ResourceType>;
  readonly outputs: Outputs;
  readonly pacer: Pacer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly onCrash: () => void;
}

const BACKOFF = { initialMs: 100, maximumMs: 30_000 };

/** Makes the work of a collector. */
export function collectInto(options: CollectOptions): Work {
  const { state, controller: { output: { type } } } = options;
  const observations = new Observations();
  return {
    reconcile: (id, signal) => reconcile(options, observations, id, signal),
    allIds: () => Promise.resolve(observations.values.keys()),
    labelledIds: async (label, value) =>
      idsOf(await state.list(type, { labelQueries: [{ terms: [labelEquals(label, value)] }] })),
    run: (signal, wake) => observe(options, observations, signal, wake),
  };
}

/** The last value of each ID, and what is known to be gone. */
class Observations {
  readonly values = new Map<string, unknown>();
  readonly gone = new Set<string>();
  /** Whether everything that exists was told at least once. */
  isComplete = false;
  #seen: Set<string> | undefined;

  /** A stream began: until it is complete, what it does not tell is not known to be gone. */
  begin(): void {
    this.#seen = new Set();
  }

  /** Takes an observation in; the IDs that it concerns. */
  take(observation: Observation<unknown>): readonly string[] {
    switch (observation.kind) {
      case "observed":
        this.values.set(observation.id, observation.value);
        this.gone.delete(observation.id);
        this.#seen?.add(observation.id);
        return [observation.id];
      case "gone":
        this.#forget(observation.id);
        this.#seen?.delete(observation.id);
        return [observation.id];
      case "complete": {
        const seen = this.#seen ?? new Set();
        const lost = [...this.values.keys()].filter((id) => !seen.has(id));
        for (const id of lost) this.#forget(id);
        this.#seen = undefined;
        this.isComplete = true;
        return lost;
      }
    }
  }

  #forget(id: string): void {
    this.values.delete(id);
    this.gone.add(id);
  }
}

async function observe(
  options: CollectOptions,
  observations: Observations,
  signal: AbortSignal,
  wake: (id: string) => void,
): Promise<void> {
  const { controller, pacer, clock, random, logger, onCrash } = options;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      observations.begin();
      for await (const observation of controller.observe({ signal })) {
        if (signal.aborted) return;
        for (const id of observations.take(observation)) wake(id);
        if (observation.kind === "complete") {
          for (const id of await ownIds(options)) if (!observations.values.has(id)) wake(id);
        }
        attempt = 1;
        const pause = pacer.pause();
        if (pause !== undefined) await pause;
      }
      logger.debug("collector ended", { controller: controller.name, attempt });
    } catch (error) {
      if (signal.aborted) return;
      onCrash();
      logger.warn("collector failed", { controller: controller.name, attempt, error });
    }
    if (signal.aborted) return;
    await clock.sleep(backoffMs(attempt, { ...BACKOFF, random }), signal);
  }
}

async function ownIds({ state, controller }: CollectOptions): Promise<string[]> {
  const all = await state.list(controller.output.type);
  return idsOf(all.filter(({ metadata }) => metadata.owner === controller.name));
}

async function reconcile(
  options: CollectOptions,
  observations: Observations,
  id: string,
  signal: AbortSignal,
): Promise<ItemResult> {
  const { controller, reader, outputs } = options;
  if (!observations.values.has(id)) {
    // Before the adapter told everything, silence about an ID says nothing.
    if (!observations.isComplete && !observations.gone.has(id)) return {};
    const result = await remove(outputs, id);
    if (result.waiting === undefined) observations.gone.delete(id);
    return result;
  }
  const value = observations.values.get(id);
  const facts = await controller.gather?.(id, reader, { signal });
  const plan = planOf(controller, id, value, facts);
  if (plan.kind === "destroy") return await remove(outputs, id);
  const retry = plan.retryAfterMs === undefined ? {} : { retryAfterMs: plan.retryAfterMs };
  if (plan.kind === "wait") return { waiting: plan.reason, ...retry };
  const stored = await outputs.of(id);
  const remaining = await outputs.clear(stored, new Set([id]));
  if (remaining.length > 0) return blockedBy(remaining);
  await outputs.write(id, id, plan, stored.get(id));
  return { ...(plan.waiting === undefined ? {} : { waiting: plan.waiting }), ...retry };
}

async function remove(outputs: Outputs, id: string): Promise<ItemResult> {
  const remaining = await outputs.removeAll(id);
  return remaining.length > 0 ? blockedBy(remaining) : {};
}

function planOf(
  controller: CollectingController,
  id: string,
  value: unknown,
  facts: unknown,
): Plan<ResourceType> {
  try {
    return controller.plan({ id, value }, facts);
  } catch (cause) {
    throw new BrokenInvariant(`Plan of controller "${controller.name}" threw`, { cause });
  }
}
