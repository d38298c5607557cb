// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One watch of a kind, shared by everybody who is interested in it.
 *
 * @module
 */

import type { Clock } from "../../base/clock.ts";
import { CodedError } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import { backoffMs } from "../../base/retry.ts";
import type { Kind } from "../resource.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { State, StateEvent } from "../state/state.ts";

/** Hears about a kind. Must not throw. */
export interface KindSubscriber {
  /** All that exists: at first, and again when the watch was lost and events may be missing. */
  onSnapshot(resources: readonly RawResource[], first: boolean): void;
  onEvent(event: StateEvent): void;
}

/** What {@linkcode watchKind} needs. */
export interface KindWatchOptions {
  readonly state: State;
  readonly kind: Kind;
  readonly subscribers: readonly KindSubscriber[];
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Called after the first snapshot was handed out. */
  readonly onReady: () => void;
}

/** A subscriber threw against its promise: the engine does not know any more what was heard. */
class SubscriberFault extends Error {
  override readonly name = "SubscriberFault";
}

const BACKOFF = { initialMs: 50, maximumMs: 10_000 };

/**
 * Watches until the signal aborts; a watch that breaks or overruns is opened again.
 *
 * Rejects only when a subscriber threw.
 */
export async function watchKind(options: KindWatchOptions): Promise<void> {
  const { state, kind, clock, random, logger, signal } = options;
  let first = true;
  let attempt = 0;
  while (!signal.aborted) {
    try {
      const batches = await state.watchKind(kind, { bootstrapContents: true, signal });
      let snapshot: RawResource[] | undefined = [];
      for await (const batch of batches) {
        for (const event of batch) {
          snapshot = takeEvent(options, event, snapshot, first);
          if (snapshot !== undefined || !first) continue;
          first = false;
          options.onReady();
        }
        attempt = 0;
      }
      if (signal.aborted) return;
      throw new CodedError("unavailable", `Watch of "${kind.type}" ended`);
    } catch (error) {
      if (error instanceof SubscriberFault) throw error;
      if (signal.aborted) return;
      attempt += 1;
      logger.warn("watch lost", { type: kind.type, attempt, error });
      await clock.sleep(backoffMs(attempt, { ...BACKOFF, random }), signal);
    }
  }
}

/** Hands one event out; returns the snapshot as far as it has come, `undefined` once complete. */
function takeEvent(
  { kind, subscribers }: KindWatchOptions,
  event: StateEvent,
  snapshot: RawResource[] | undefined,
  first: boolean,
): RawResource[] | undefined {
  if (event.type === "errored") {
    throw new CodedError("unavailable", `Watch of "${kind.type}" failed: ${event.error ?? ""}`);
  }
  if (event.type === "bootstrapped") {
    tell(subscribers, (subscriber) => subscriber.onSnapshot(snapshot ?? [], first));
    return undefined;
  }
  if (event.type === "noop") return snapshot;
  if (snapshot !== undefined) {
    snapshot.push(event.resource);
    return snapshot;
  }
  tell(subscribers, (subscriber) => subscriber.onEvent(event));
  return undefined;
}

function tell(
  subscribers: readonly KindSubscriber[],
  news: (subscriber: KindSubscriber) => void,
): void {
  try {
    subscribers.forEach(news);
  } catch (cause) {
    throw new SubscriberFault("Subscriber of a watch threw", { cause });
  }
}
