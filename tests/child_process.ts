// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The end of processes that tests and benchmarks start.
 *
 * @module
 */

/**
 * Sends a child its signal and waits for its end. A child that has ended by itself takes no signal;
 * that is no error here, so that the fault which a test has found on the way is not hidden.
 */
export async function endChild(
  child: Deno.ChildProcess,
  signal: Deno.Signal = "SIGTERM",
): Promise<Deno.CommandStatus> {
  try {
    child.kill(signal);
  } catch (error) {
    const hasEnded = error instanceof TypeError || error instanceof Deno.errors.NotFound;
    if (!hasEnded) throw error;
  }
  return await child.status;
}
