// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Why items are not where they should be: what every controller waits for or fails at.
 *
 * @module
 */

import type { Ref } from "../resource.ts";

/**
 * `acting`: a call to the outside is under way; `stopped`: another attempt is made only after an input
 * changed; `declined`: the plan is that there be no output.
 */
export type WaitState = "waiting" | "acting" | "failing" | "stopped" | "declined";

/** One item that is not done. */
export interface ItemWait {
  readonly controller: string;
  /** The type of the controller's primaries; of its output for a collector. */
  readonly type: string;
  readonly id: string;
  readonly state: WaitState;
  /** The reason of a wait, or the chain of errors. */
  readonly reason: string;
  readonly blockers: readonly Ref[];
  /** Attempts that failed in a row; 0 for a wait. */
  readonly attempts: number;
  /** Since when the state and the reason are the same, milliseconds since the Unix epoch. */
  readonly sinceMs: number;
}

/** All items that are not done. */
export class WaitRegistry {
  readonly #items = new Map<string, ItemWait>();
  readonly #onChange: (key: string) => void;

  /** @param onChange Hears the key of every item whose wait began, changed or ended. */
  constructor(onChange: (key: string) => void = () => {}) {
    this.#onChange = onChange;
  }

  /** The key of an item: also the ID of the resource that shows it. */
  static keyOf(controller: string, id: string): string {
    return `${controller}/${id}`;
  }

  get(key: string): ItemWait | undefined {
    return this.#items.get(key);
  }

  find(controller: string, id: string): ItemWait | undefined {
    return this.#items.get(WaitRegistry.keyOf(controller, id));
  }

  list(): readonly ItemWait[] {
    return [...this.#items.values()];
  }

  /** Records that an item is not done; keeps the time since when for the same reason. */
  set(wait: ItemWait): void {
    const key = WaitRegistry.keyOf(wait.controller, wait.id);
    const before = this.#items.get(key);
    const same = before !== undefined && before.state === wait.state &&
      before.reason === wait.reason;
    this.#items.set(key, same ? { ...wait, sinceMs: before.sinceMs } : wait);
    if (!same || before.attempts !== wait.attempts) this.#onChange(key);
  }

  /** Records that an item is done. */
  clear(controller: string, id: string): void {
    if (this.#items.size === 0) return;
    const key = WaitRegistry.keyOf(controller, id);
    if (this.#items.delete(key)) this.#onChange(key);
  }
}
