// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A queue of keys: each at most once in it, and none in work twice at the same time.
 *
 * @module
 */

import type { Pacer } from "./pacer.ts";
import type { Timer, Timers } from "./timers.ts";

/** What a {@linkcode WorkQueue} needs. */
export interface WorkQueueOptions {
  readonly concurrency: number;
  readonly timers: Timers;
  readonly pacer: Pacer;
  /** Works on a key; must not throw. A result asks to be called again after so many milliseconds. */
  readonly run: (key: string) => Promise<number | undefined>;
  /** Called with an error that `run` threw against its promise. */
  readonly onFault: (error: unknown) => void;
}

/** Starts paused, so that what feeds it can come up first. */
export class WorkQueue {
  readonly #options: WorkQueueOptions;
  readonly #pending = new KeyLine();
  readonly #pendingLater = new KeyLine();
  readonly #active = new Set<string>();
  /** Keys that were added while they were in work. */
  readonly #dirty = new Set<string>();
  readonly #delayed = new Map<string, Timer>();
  #state: "paused" | "running" | "closed" = "paused";
  #isPumpPlanned = false;
  #idle: (() => void) | undefined;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
  }

  /** Keys that wait to be worked on. */
  get depth(): number {
    return this.#pending.size + this.#pendingLater.size + this.#dirty.size;
  }

  /** Whether nothing is in work or waiting, apart from delayed keys. */
  get isIdle(): boolean {
    return this.depth === 0 && this.#active.size === 0;
  }

  /** Adds a key; at once even if it was delayed. `later` lets all others go first. */
  add(key: string, later = false): void {
    if (this.#state === "closed") return;
    this.#undelay(key);
    if (this.#active.has(key)) {
      this.#dirty.add(key);
      return;
    }
    if (this.#pending.has(key)) return;
    if (later) {
      this.#pendingLater.add(key);
    } else {
      this.#pendingLater.delete(key);
      this.#pending.add(key);
    }
    this.#planPump();
  }

  /** Lets work begin. */
  start(): void {
    if (this.#state !== "paused") return;
    this.#state = "running";
    this.#pump();
  }

  /** Takes no more keys and waits for those in work. */
  async close(): Promise<void> {
    this.#state = "closed";
    this.#pending.clear();
    this.#pendingLater.clear();
    this.#dirty.clear();
    for (const timer of this.#delayed.values()) timer.cancel();
    this.#delayed.clear();
    if (this.#active.size > 0) await new Promise<void>((resolve) => void (this.#idle = resolve));
  }

  /** Begins work in a later microtask, so that all events of one moment are deduplicated. */
  #planPump(): void {
    if (this.#isPumpPlanned || this.#state !== "running") return;
    this.#isPumpPlanned = true;
    queueMicrotask(() => {
      this.#isPumpPlanned = false;
      this.#pump();
    });
  }

  #pump(): void {
    while (this.#state === "running" && this.#active.size < this.#options.concurrency) {
      const key = this.#pending.take() ?? this.#pendingLater.take();
      if (key === undefined) return;
      this.#active.add(key);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    let delayMs: number | undefined;
    try {
      const pause = this.#options.pacer.pause();
      if (pause !== undefined) await pause;
      delayMs = await this.#options.run(key);
    } catch (error) {
      this.#options.onFault(error);
    }
    this.#active.delete(key);
    if (this.#state === "closed") {
      if (this.#active.size === 0) this.#idle?.();
      return;
    }
    if (this.#dirty.delete(key)) this.add(key);
    else if (delayMs !== undefined) this.#delay(key, delayMs);
    this.#pump();
  }

  #delay(key: string, ms: number): void {
    this.#undelay(key);
    const timer = this.#options.timers.after(ms, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, timer);
  }

  #undelay(key: string): void {
    const timer = this.#delayed.get(key);
    if (timer === undefined) return;
    timer.cancel();
    this.#delayed.delete(key);
  }
}

/**
 * Keys in the order of their coming, each once.
 *
 * A set alone would do by its order of insertion, were it not that looking for its first member walks
 * over all that were removed before.
 */
class KeyLine {
  #keys: string[] = [];
  #head = 0;
  readonly #members = new Set<string>();

  get size(): number {
    return this.#members.size;
  }

  has(key: string): boolean {
    return this.#members.has(key);
  }

  /** Adds a key that is not in line. */
  add(key: string): void {
    if (this.#members.has(key)) return;
    this.#members.add(key);
    this.#keys.push(key);
  }

  /** Removes a key wherever it stands; its place is passed over later. */
  delete(key: string): void {
    this.#members.delete(key);
  }

  /** Removes and returns the first key. */
  take(): string | undefined {
    for (;;) {
      const key = this.#keys[this.#head];
      if (key === undefined) return undefined;
      this.#head += 1;
      if (this.#head * 2 > this.#keys.length) {
        this.#keys = this.#keys.slice(this.#head);
        this.#head = 0;
      }
      if (this.#members.delete(key)) return key;
    }
  }

  clear(): void {
    this.#keys = [];
    this.#head = 0;
    this.#members.clear();
  }
}
