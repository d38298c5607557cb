// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Waiting on a state rather than on an event.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";

/** Tells waiters that something may have changed. */
export interface Signal {
  fire(): void;
  /** Calls back at every `fire` until the returned function is called. */
  subscribe(listener: () => void): () => void;
  /**
   * Resolves as soon as the condition holds; it is looked at now and after every `fire`.
   *
   * @throws CodedError `cancelled` when the signal aborts first.
   */
  until(condition: () => boolean, signal?: AbortSignal): Promise<void>;
}

/** Creates a signal. */
export function createSignal(): Signal {
  const listeners = new Set<() => void>();
  const subscribe = (listener: () => void): () => void => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    fire: () => {
      for (const listener of [...listeners]) listener();
    },
    subscribe,
    until: (condition, signal) => untilAny([{ subscribe }], condition, signal),
  };
}

/**
 * Resolves as soon as the condition holds; it is looked at now and after every `fire` of any of the
 * signals.
 *
 * @throws CodedError `cancelled` when `abort` aborts first.
 */
export function untilAny(
  signals: readonly Pick<Signal, "subscribe">[],
  condition: () => boolean,
  abort?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const unsubscribes: (() => void)[] = [];
    let isSettled = false;
    const look = (): void => {
      if (isSettled || abort?.aborted !== true && !condition()) return;
      isSettled = true;
      for (const unsubscribe of unsubscribes) unsubscribe();
      abort?.removeEventListener("abort", look);
      if (abort?.aborted === true) reject(new CodedError("cancelled", "Waiting was given up"));
      else resolve();
    };
    look();
    if (isSettled) return;
    for (const { subscribe } of signals) unsubscribes.push(subscribe(look));
    abort?.addEventListener("abort", look, { once: true });
  });
}
