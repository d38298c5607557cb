// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A guard for the YAML library.
 *
 * @module
 */

/**
 * Most doubled single quotes in a text. The library's loop over the quotes of one scalar makes the
 * runtime of Deno 2.9.3 end the process while it compiles that loop, somewhere above a thousand
 * quotes.
 */
const MAX_DOUBLED_QUOTES = 500;

/** Tells whether a text holds more doubled single quotes than the YAML library survives. */
export function hasTooManyQuotes(source: string): boolean {
  let count = 0;
  for (let at = source.indexOf("''"); at !== -1; at = source.indexOf("''", at + 2)) {
    if (++count > MAX_DOUBLED_QUOTES) return true;
  }
  return false;
}
