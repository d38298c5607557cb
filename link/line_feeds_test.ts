// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { createLineFeeds } from "./line_feeds.ts";

/** Counts the listeners that stand on a signal. */
function countListeners(signal: AbortSignal): () => number {
  const listeners = new Set<unknown>();
  const { addEventListener, removeEventListener } = signal;
  signal.addEventListener = (type: string, listener: unknown, options?: unknown) => {
    listeners.add(listener);
    addEventListener.call(signal, type, listener as EventListener, options as boolean);
  };
  signal.removeEventListener = (type: string, listener: unknown) => {
    listeners.delete(listener);
    removeEventListener.call(signal, type, listener as EventListener);
  };
  return () => listeners.size;
}

Deno.test("a follower costs the same however long it follows", async () => {
  const feeds = createLineFeeds();
  const stop = new AbortController();
  const count = countListeners(stop.signal);
  using feed = feeds.open("m");
  const seen: string[] = [];
  const following = (async () => {
    for await (const line of feed.lines(stop.signal)) seen.push(line);
  })();
  for (let number = 0; number < 100; number++) {
    feeds.offer("m", `line ${number}`);
    while (seen.length <= number) await Promise.resolve();
  }
  strictEqual(count(), 1);
  stop.abort();
  await following;
  deepStrictEqual([seen.length, count()], [100, 0]);
});
