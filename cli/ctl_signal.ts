// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Work that goes on until the user has seen enough.
 *
 * @module
 */

import { codeOf } from "../base/errors.ts";

/** Runs work until it ends by itself, or until Ctrl-C or a request to end, which is no failure. */
export async function untilInterrupted(
  work: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const controller = new AbortController();
  const stop = (): void => controller.abort();
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const name of signals) Deno.addSignalListener(name, stop);
  try {
    await work(controller.signal);
  } catch (error) {
    if (!controller.signal.aborted || codeOf(error) !== "cancelled") throw error;
  } finally {
    for (const name of signals) Deno.removeSignalListener(name, stop);
  }
}
