// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The stored form of epochs: 16 bytes each, cookie and start revision, big-endian.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Epoch } from "../state/bookmark.ts";

const SIZE = 16;

/** Writes epochs. */
export function encodeEpochs(epochs: readonly Epoch[]): Uint8Array {
  const bytes = new Uint8Array(epochs.length * SIZE);
  const view = new DataView(bytes.buffer);
  epochs.forEach(({ cookie, startRevision }, index) => {
    view.setBigUint64(index * SIZE, cookie);
    view.setBigUint64(index * SIZE + 8, BigInt(startRevision));
  });
  return bytes;
}

/** Reads epochs. */
export function decodeEpochs(bytes: Uint8Array): Epoch[] {
  if (bytes.length % SIZE !== 0) {
    throw new CodedError(
      "dataLoss",
      `Cannot read epochs: ${bytes.length} bytes are no whole entries`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / SIZE }, (_, index) => ({
    cookie: view.getBigUint64(index * SIZE),
    startRevision: Number(view.getBigUint64(index * SIZE + 8)),
  }));
}
