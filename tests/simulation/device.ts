// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The world outside of the simulated state: slow, unreliable, and watched for what must not happen.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { CallOptions } from "../../cosi/controller.ts";
import type { Observation } from "../../cosi/collector.ts";
import type { Chance } from "./chance.ts";
import type { VirtualClock } from "./virtual_clock.ts";

/** What a {@linkcode Device} needs. */
export interface DeviceOptions {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  /** The probability that a call fails, at this moment. */
  readonly faultRate: () => number;
  readonly onViolation: (text: string) => void;
}

/** A table of values with one writer an entry. */
export class Device {
  readonly values = new Map<string, string>();
  readonly #options: DeviceOptions;
  readonly #inWork = new Set<string>();
  readonly #changes: string[] = [];
  #wake: () => void = () => {};

  constructor(options: DeviceOptions) {
    this.#options = options;
  }

  /** Sets a value; it may have been set although the call fails. */
  async put(id: string, value: string, options: CallOptions): Promise<void> {
    if (this.values.get(id) === value) {
      this.#options.onViolation(`act was called for "${id}" although there is no difference`);
    }
    await this.#call(id, () => this.values.set(id, value), options);
  }

  /** Removes a value, if it is there. */
  async remove(id: string, options: CallOptions): Promise<void> {
    await this.#call(id, () => this.values.delete(id), options);
  }

  /** Tells all values, then every change. */
  async *observe({ signal }: CallOptions): AsyncGenerator<Observation<string>> {
    const { chance, faultRate } = this.#options;
    let position = this.#changes.length;
    for (const [id, value] of this.values) yield { kind: "observed", id, value };
    yield { kind: "complete" };
    const onAbort = (): void => this.#wake();
    signal.addEventListener("abort", onAbort);
    try {
      while (!signal.aborted) {
        if (position === this.#changes.length) {
          await new Promise<void>((resolve) => void (this.#wake = resolve));
          continue;
        }
        if (chance.happens(faultRate())) throw new CodedError("unavailable", "Stream broke");
        const id = this.#changes[position++] ?? "";
        const value = this.values.get(id);
        yield value === undefined ? { kind: "gone", id } : { kind: "observed", id, value };
      }
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #call(id: string, change: () => unknown, { signal }: CallOptions): Promise<void> {
    const { clock, chance, faultRate, onViolation } = this.#options;
    if (this.#inWork.has(id)) onViolation(`two calls for "${id}" at once`);
    this.#inWork.add(id);
    try {
      await clock.sleep(1 + chance.below(4), signal);
      if (signal.aborted || chance.happens(faultRate())) {
        throw new CodedError("unavailable", "Device did not hear the call");
      }
      change();
      this.#changes.push(id);
      this.#wake();
      await clock.sleep(1 + chance.below(4), signal);
      if (signal.aborted || chance.happens(faultRate())) {
        throw new CodedError("unavailable", "Device did not answer");
      }
    } finally {
      this.#inWork.delete(id);
    }
  }
}
