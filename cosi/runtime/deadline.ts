// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Bounds a call that leaves the engine.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { CallOptions } from "../controller.ts";
import type { Timer, Timers } from "./timers.ts";

/** What a {@linkcode Deadline} needs. */
export interface DeadlineOptions {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** Aborts when the engine stops. */
  readonly signal: AbortSignal;
}

/** A signal that costs nothing until somebody asks for it. */
export class Deadline implements CallOptions {
  readonly #options: DeadlineOptions;
  #started: { readonly abort: AbortController; readonly timer: Timer } | undefined;

  constructor(options: DeadlineOptions) {
    this.#options = options;
  }

  get signal(): AbortSignal {
    if (this.#started !== undefined) return this.#started.abort.signal;
    const { timers, timeoutMs, signal } = this.#options;
    const abort = new AbortController();
    const timer = timers.after(
      timeoutMs,
      () =>
        abort.abort(
          new CodedError("deadlineExceeded", `Call took longer than ${timeoutMs} ms`),
        ),
    );
    if (signal.aborted) abort.abort(signal.reason);
    else signal.addEventListener("abort", this.#stop);
    this.#started = { abort, timer };
    return abort.signal;
  }

  /** Must be called when the call is over. */
  release(): void {
    if (this.#started === undefined) return;
    this.#started.timer.cancel();
    this.#options.signal.removeEventListener("abort", this.#stop);
  }

  readonly #stop = (): void => this.#started?.abort.abort(this.#options.signal.reason);
}
