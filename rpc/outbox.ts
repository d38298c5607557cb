// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The sending side of a connection: frames gather in one buffer and leave in one write.
 *
 * While a write is on its way the next frames gather in another buffer, so a busy connection writes
 * large pieces by itself. An idle connection holds no buffer.
 *
 * @module
 */

import { giveBuffer, takeBuffer } from "./buffers.ts";
import type { ByteStream } from "./stream.ts";
import { Streak } from "./turns.ts";

/** What the owner of an {@linkcode Outbox} learns from it. */
export interface OutboxEvents {
  /** Bytes were taken by the stream; there may be room again. */
  onWritten(): void;
  /** The stream failed; nothing more will be written. */
  onWriteFailed(error: unknown): void;
}

const FIRST_BUFFER_BYTES = 4096;

/** Gathers bytes and writes them in order. */
export class Outbox {
  readonly #stream: ByteStream;
  readonly #events: OutboxEvents;
  /** The gathering buffer. Callers write into it after {@linkcode reserve} and say so by {@linkcode commit}. */
  buffer: Uint8Array = EMPTY;
  /** Bytes gathered and not yet given to the stream. */
  length = 0;
  /** Where the header of a frame is in {@linkcode buffer} that more may be added to; -1 for none. */
  openFrameAt = -1;
  #sending: Uint8Array | undefined;
  #sendingAt = 0;
  #sendingEnd = 0;
  #onSettled: (() => void) | undefined;
  readonly #streak = new Streak();
  #scheduled = false;
  #isLazy = false;
  #closed = false;
  #finish: { promise: Promise<void>; resolve: () => void } | undefined;
  #corked = 0;
  /** When the current write began, in milliseconds of `performance.now()`; 0 while none is. */
  writingSinceMs = 0;

  constructor(stream: ByteStream, events: OutboxEvents) {
    this.#stream = stream;
    this.#events = events;
  }

  /** Bytes that the stream has not taken yet. */
  get pendingBytes(): number {
    return this.length + this.#sendingEnd - this.#sendingAt;
  }

  /** Makes room for `bytes` and returns the offset in {@linkcode buffer} to write them to. */
  reserve(bytes: number): number {
    const needed = this.length + bytes;
    if (needed > this.buffer.length) {
      const next = takeBuffer(Math.max(needed, FIRST_BUFFER_BYTES, this.buffer.length * 2));
      next.set(this.buffer.subarray(0, this.length));
      if (this.buffer.length > 0) giveBuffer(this.buffer);
      this.buffer = next;
    }
    return this.length;
  }

  /**
   * Takes what was written up to `end` and sees to it that it leaves soon. `openFrameAt` is for what
   * more may be added to.
   */
  commit(end: number, openFrameAt = -1): void {
    if (this.#closed) return;
    this.length = end;
    this.openFrameAt = openFrameAt;
    this.#isLazy = false;
    if (this.#scheduled || this.#corked > 0 || this.#sending !== undefined) return;
    this.#scheduled = true;
    queueMicrotask(this.#flushScheduled);
  }

  /** The same for what nobody waits for: what else this turn makes leaves in the same write. */
  commitLazily(end: number): void {
    if (this.#closed) return;
    if (this.length > 0 && !this.#isLazy) return this.commit(end);
    this.#isLazy = true;
    this.length = end;
    this.openFrameAt = -1;
    if (this.#corked === 0) this.#flushLater();
  }

  /** Holds writes back until the matching {@linkcode uncork}. */
  cork(): void {
    this.#corked++;
  }

  /** Ends a {@linkcode cork} and writes what gathered. */
  uncork(): void {
    if (--this.#corked > 0) return;
    if (this.#isLazy) this.#flushLater();
    else this.flush();
  }

  /** Writes what gathered, unless a write is on its way; then that goes on with it. */
  flush(): void {
    this.#isLazy = false;
    if (this.#closed || this.#sending !== undefined) return;
    if (this.length === 0) {
      this.#finish?.resolve();
      return;
    }
    this.#sending = this.buffer;
    this.#sendingAt = 0;
    this.#sendingEnd = this.length;
    this.buffer = EMPTY;
    this.length = 0;
    this.openFrameAt = -1;
    this.#write();
  }

  /** Resolves when everything gathered so far is written, or never will be. */
  finish(): Promise<void> {
    if (this.#finish === undefined) {
      let resolve = (): void => {};
      const promise = new Promise<void>((settle) => resolve = settle);
      this.#finish = { promise, resolve };
    }
    if (this.#closed) this.#finish.resolve();
    else this.flush();
    return this.#finish.promise;
  }

  /** Drops everything and closes the stream. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.buffer = EMPTY;
    this.length = 0;
    this.openFrameAt = -1;
    this.#finish?.resolve();
    this.#stream.close();
  }

  /**
   * A promise for the end of the write that is on its way, `undefined` without one. Closing a stream
   * does not end it: the runtime keeps the socket until the peer takes the bytes or goes away.
   */
  settled(): Promise<void> | undefined {
    if (this.#sending === undefined) return undefined;
    return new Promise((resolve) => this.#onSettled = resolve);
  }

  #flushLater(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    queueMicrotask(() => queueMicrotask(this.#flushScheduled));
  }

  readonly #flushScheduled = (): void => {
    this.#scheduled = false;
    if (this.#corked === 0) this.flush();
  };

  #write(): void {
    const piece = (this.#sending as Uint8Array).subarray(this.#sendingAt, this.#sendingEnd);
    this.writingSinceMs = performance.now();
    this.#stream.write(piece).then(this.#written, this.#failed);
  }

  readonly #written = (count: number): void => {
    this.#sendingAt += count;
    if (this.#closed) return this.#release();
    const turn = this.#streak.turn(count, this.writingSinceMs, performance.now());
    if (turn === undefined) this.#goOn();
    else void turn.then(this.#goOn);
  };

  readonly #goOn = (): void => {
    if (this.#closed) return this.#release();
    if (this.#sendingAt < this.#sendingEnd) return this.#write();
    this.#release();
    this.#corked++;
    this.#events.onWritten();
    this.#corked--;
    if (this.#corked === 0) this.flush();
  };

  readonly #failed = (error: unknown): void => {
    this.#release();
    if (this.#closed) return;
    this.close();
    this.#events.onWriteFailed(error);
  };

  #release(): void {
    if (this.#sending !== undefined) giveBuffer(this.#sending);
    this.#sending = undefined;
    this.#sendingAt = this.#sendingEnd = 0;
    this.writingSinceMs = 0;
    this.#onSettled?.();
  }
}

const EMPTY = new Uint8Array(0);
