// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writing to standard output.
 *
 * @module
 */

const encoder = new TextEncoder();

/**
 * Writes a text. A reader that went away, such as `head`, ends the process quietly: there is nobody
 * left to write for.
 */
export function writeOutput(text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) Deno.exit(0);
    throw error;
  }
}

/** Whether a person reads the output, who has not asked for plain text. */
export function isFancy(): boolean {
  return Deno.stdout.isTerminal() && !Deno.noColor;
}
