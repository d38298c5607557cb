// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Carries bytes between two streams, both ways.
 *
 * @module
 */

import type { ByteStream } from "../rpc/stream.ts";
import { writeAll } from "../rpc/write_all.ts";

const CHUNK_BYTES = 32 * 1024;

/** Joins two streams until both directions have ended, either breaks, or the signal aborts. */
export async function pipeBoth(a: ByteStream, b: ByteStream, signal: AbortSignal): Promise<void> {
  const close = (): void => {
    a.close();
    b.close();
  };
  signal.addEventListener("abort", close, { once: true });
  try {
    if (!signal.aborted) await Promise.all([pipe(a, b), pipe(b, a)]);
  } catch {
    // A broken side ends the other: TCP tells its users the same way.
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

async function pipe(from: ByteStream, to: ByteStream): Promise<void> {
  const buffer = new Uint8Array(CHUNK_BYTES);
  while (true) {
    const count = await from.read(buffer);
    if (count === null) return await to.closeWrite();
    await writeAll(to, buffer.subarray(0, count));
  }
}
