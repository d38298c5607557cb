// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps secrets out of whatever is written or shown.
 *
 * @module
 */

/** What stands in place of a secret. */
export const REDACTED = "REDACTED";

/** A value that never prints itself. */
export class Secret<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself; call it only where it goes over a wire or into a computation. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.for("Deno.customInspect")](): string {
    return REDACTED;
  }
}

// The value ends before "&", a quote, a backslash or white space: the text around it may be JSON.
const SECRET_PARAMETERS = /\b(jointoken|talos\.config)=[^&"'\\\s]+/g;

/** Replaces the values of `jointoken=` and `talos.config=` in a kernel command line or log text. */
export function redactParameters(text: string): string {
  return text.replace(SECRET_PARAMETERS, `$1=${REDACTED}`);
}
