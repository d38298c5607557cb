// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Several errors as one text, in the form in which Talos's tools print them.
 *
 * @module
 */

/** Joins messages; the text ends with an empty line, so that such texts nest. */
export function formatErrors(messages: readonly string[]): string {
  const head = messages.length === 1 ? "1 error occurred:" : `${messages.length} errors occurred:`;
  return `${head}\n${messages.map((message) => `\t* ${message}\n`).join("")}\n`;
}
