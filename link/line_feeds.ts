// SPDX-License-Identifier: AGPL-3.0-or-later

/** Hands new lines of a machine's log to those who follow it. @module */

import { CodedError } from "../base/errors.ts";

/** One follower's lines. */
export interface LineFeed extends Disposable {
  /** New lines, in order, until the signal aborts; throws `resourceExhausted` when too many wait. */
  lines(signal: AbortSignal): AsyncIterable<string>;
}

/** All followers. */
export interface LineFeeds {
  open(machine: string): LineFeed;
  offer(machine: string, line: string): void;
}

/** Lines that may wait for one follower; a machine that boots prints a few thousand. */
const WAITING_LINES = 10_000;

interface Follower {
  readonly waiting: string[];
  isOverrun: boolean;
  wake: () => void;
}

/** Creates an empty set of followers. */
export function createLineFeeds(): LineFeeds {
  const followers = new Map<string, Set<Follower>>();
  return {
    open: (machine) => {
      const follower: Follower = { waiting: [], isOverrun: false, wake: () => {} };
      const ofMachine = followers.get(machine) ?? new Set();
      followers.set(machine, ofMachine.add(follower));
      return {
        lines: (signal) => linesOf(follower, signal),
        [Symbol.dispose]: () => {
          ofMachine.delete(follower);
          if (ofMachine.size === 0) followers.delete(machine);
        },
      };
    },
    offer: (machine, line) => {
      for (const follower of followers.get(machine) ?? []) {
        if (follower.waiting.length >= WAITING_LINES) follower.isOverrun = true;
        else follower.waiting.push(line);
        follower.wake();
      }
    },
  };
}

async function* linesOf(follower: Follower, signal: AbortSignal): AsyncGenerator<string> {
  // One listener for all waits: a log is followed for days.
  const onAbort = (): void => follower.wake();
  signal.addEventListener("abort", onAbort);
  try {
    while (!signal.aborted) {
      if (follower.isOverrun) {
        throw new CodedError("resourceExhausted", "Cannot follow the log: the reader is too slow");
      }
      yield* follower.waiting.splice(0);
      if (follower.waiting.length > 0 || signal.aborted || follower.isOverrun) continue;
      const { promise, resolve } = Promise.withResolvers<void>();
      follower.wake = resolve;
      await promise;
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
