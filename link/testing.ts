// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the tests of the tunnel share.
 *
 * @module
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import type { ByteStream, IncomingStream, StreamListener } from "../rpc/stream.ts";
import { writeAll } from "../rpc/write_all.ts";

/** Reads up to the end of the stream. */
export async function readAll(stream: ByteStream): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  const buffer = new Uint8Array(65_536);
  for (let n = await stream.read(buffer); n !== null; n = await stream.read(buffer)) {
    chunks.push(buffer.slice(0, n));
  }
  const all = new Uint8Array(chunks.reduce((sum, chunk) => sum + chunk.length, 0));
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** Sends back everything that comes in, as it comes, then the end. */
export async function echo(stream: ByteStream): Promise<void> {
  const buffer = new Uint8Array(65_536);
  for (let n = await stream.read(buffer); n !== null; n = await stream.read(buffer)) {
    await writeAll(stream, buffer.subarray(0, n));
  }
  await stream.closeWrite();
}

/** Writes data to a stream that somebody echoes, and wants the same back, and the end. */
export async function exchange(stream: ByteStream, data: Uint8Array): Promise<void> {
  const [received] = await Promise.all([
    readAll(stream),
    writeAll(stream, data).then(() => stream.closeWrite()),
  ]);
  assertSame(received, data);
}

/** Bytes in which a piece that is missing or doubled shows. */
export function pattern(size: number): Uint8Array {
  const data = new Uint8Array(size);
  for (let i = 0; i < size; i++) data[i] = (i * 7 + (i >> 8) + (i >> 16)) & 0xff;
  return data;
}

/** After so many bytes {@linkcode pattern} begins again. */
const PATTERN_PERIOD = 1 << 24;
const CHUNK_SIZE = 65_536;

/** Writes a pattern of any size, then the end. */
export async function writePattern(stream: ByteStream, size: number): Promise<void> {
  const period = pattern(Math.min(size, PATTERN_PERIOD));
  for (let at = 0; at < size;) {
    const from = at % PATTERN_PERIOD;
    const to = Math.min(PATTERN_PERIOD, from + CHUNK_SIZE, from + size - at);
    at += await stream.write(period.subarray(from, to));
  }
  await stream.closeWrite();
}

/**
 * Reads a pattern of any size to its end.
 *
 * @returns The longest time in ms in which nothing came.
 * @throws AssertionError when a byte is another one, or the size is.
 */
export async function readPattern(stream: ByteStream, size: number): Promise<number> {
  const period = pattern(Math.min(size, PATTERN_PERIOD));
  const buffer = new Uint8Array(CHUNK_SIZE);
  let longestMs = 0;
  let sinceMs = performance.now();
  let at = 0;
  for (let n = await stream.read(buffer); n !== null; n = await stream.read(buffer)) {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - sinceMs);
    sinceMs = nowMs;
    const from = at % PATTERN_PERIOD;
    const first = Math.min(n, PATTERN_PERIOD - from);
    assertSame(buffer.subarray(0, first), period.subarray(from, from + first));
    assertSame(buffer.subarray(first, n), period.subarray(0, n - first));
    at += n;
  }
  assert.equal(at, size);
  return longestMs;
}

/** The next connection of a listener. */
export async function acceptOne(listener: StreamListener): Promise<IncomingStream> {
  const { done, value } = await listener[Symbol.asyncIterator]().next();
  if (done) throw new Error("The listener was closed");
  return value;
}

/** Numbers in [0, 1) that depend on nothing but the seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Compares large byte strings without printing them. */
export function assertSame(actual: Uint8Array, expected: Uint8Array): void {
  assert.equal(actual.length, expected.length);
  if (Buffer.compare(actual, expected) === 0) return;
  const at = actual.findIndex((byte, i) => byte !== expected[i]);
  assert.fail(`Bytes differ from ${at} on`);
}
