// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writing to a byte stream, which may take less at a time than it is given.
 *
 * @module
 */

import type { ByteStream } from "./stream.ts";

/** Writes all of `data`. */
export async function writeAll(stream: ByteStream, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) at += await stream.write(data.subarray(at));
}
