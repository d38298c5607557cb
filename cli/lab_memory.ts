// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps the disks of a lab's machines beside its state: machines that forgot everything would not be
 * let in again.
 *
 * @module
 */

import { join } from "node:path";
import type { FleetThread } from "../lab/fleet_thread.ts";

/** Shortest time between two writes, in ms: a lab that is killed loses no more than that. */
const WRITE_INTERVAL_MS = 500;

/** What the machines of a directory remember, or `undefined` for new ones. */
export async function readMemory(directory: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(pathIn(directory));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Writes after changes until it is stopped, which writes a last time. */
export function keepMemory(
  directory: string,
  fleet: Pick<FleetThread, "memory" | "onChange">,
): { stop(): Promise<void> } {
  let written = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing = Promise.resolve();
  const write = async (): Promise<void> => {
    timer = undefined;
    const text = await fleet.memory();
    if (text === written) return;
    const path = pathIn(directory);
    // A reader sees the old file or the new one, never a part.
    await Deno.writeTextFile(`${path}.new`, text, { mode: 0o600 });
    await Deno.rename(`${path}.new`, path);
    written = text;
  };
  const unsubscribe = fleet.onChange(() => {
    timer ??= setTimeout(() => writing = writing.then(write), WRITE_INTERVAL_MS);
  });
  return {
    stop: async () => {
      unsubscribe();
      clearTimeout(timer);
      await writing;
      await write();
    },
  };
}

function pathIn(directory: string): string {
  return join(directory, "machines.json");
}
