// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What benchmarks print, and what Linux says of a process that they measure.
 *
 * @module
 */

/** Kernel ticks of /proc/PID/stat; 100 a second on every Linux that Deno runs on. */
const TICK_MS = 10;

/** Prints one figure as a line of JSON. */
export function report(name: string, value: number, unit: string): void {
  console.log(JSON.stringify({ name, value, unit }));
}

/** The value in the middle; of an even number the upper one of the two. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** CPU time of a process so far, of all its threads, in ms. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // The name before may hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Resident memory of a process in KiB. */
export async function residentKib(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const text = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1];
  if (text === undefined) throw new Error(`Process ${pid} has no resident memory`);
  return Number(text);
}
