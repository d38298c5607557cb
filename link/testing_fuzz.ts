// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Random and damaged input for the parsers that the network reaches.
 *
 * `BATUTA_FUZZ_INPUTS` sets how many inputs each test gets (20,000); `BATUTA_SEED` replays one run.
 *
 * @module
 */

import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { seededRandom } from "./testing.ts";

export const INPUTS = Number(Deno.env.get("BATUTA_FUZZ_INPUTS") ?? 20_000);
export const SEED = Number(Deno.env.get("BATUTA_SEED") ?? Date.now() % 1_000_000);

/** Far above what any input takes, so that only a hang fails and a busy machine does not. */
const HANG_MS = 10_000;
/** What may be left in memory of all inputs, in bytes: compiled code, and caches with bounds. */
const GROWTH_BYTES = 8 << 20;

/** Random whole numbers and bytes. */
export interface Random {
  below(limit: number): number;
  bytes(size: number): Uint8Array;
}

/** Those of a seed. */
export function randomOf(seed: number): Random {
  const next = seededRandom(seed);
  const below = (limit: number): number => Math.floor(next() * limit);
  const bytes = (size: number): Uint8Array => {
    const result = new Uint8Array(size);
    for (let i = 0; i < size; i++) result[i] = below(256);
    return result;
  };
  return { below, bytes };
}

/** Overwrites one to four bytes from an offset on. */
export function mutate(bytes: Uint8Array, from: number, { below }: Random): void {
  for (let i = below(4); i >= 0; i--) {
    if (bytes.length > from) bytes[from + below(bytes.length - from)] = below(256);
  }
}

/** A copy with bytes overwritten, cut off, doubled or added. */
export function damaged(bytes: Uint8Array, random: Random): Uint8Array {
  const copy = Uint8Array.from(bytes);
  mutate(copy, 0, random);
  const at = random.below(copy.length + 1);
  switch (random.below(6)) {
    case 0:
      return copy.subarray(0, at);
    case 1:
      return Uint8Array.from([...copy.subarray(0, at), ...copy]);
    case 2:
      return Uint8Array.from([...copy, ...random.bytes(random.below(40))]);
    default:
      return copy;
  }
}

/**
 * Gives inputs to something, one by one: none of them may take long, and nothing may stay of them
 * in memory.
 */
export async function feed(
  count: number,
  take: (index: number) => void | Promise<void>,
): Promise<void> {
  const warmUp = Math.min(count / 4, 20_000);
  let before = Infinity;
  let slowestMs = 0;
  for (let i = 0; i < count; i++) {
    if (i >= warmUp && before === Infinity) before = usedBytes();
    const startMs = performance.now();
    const taken = take(i);
    if (taken !== undefined) await taken;
    slowestMs = Math.max(slowestMs, performance.now() - startMs);
  }
  assert.ok(slowestMs < HANG_MS, `One input took ${slowestMs} ms`);
  const growth = usedBytes() - before;
  assert.ok(growth < GROWTH_BYTES, `${growth} bytes are left of ${count} inputs`);
}

/** Bytes in use once everything that nobody needs is gone. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  return Deno.memoryUsage().heapUsed;
}
