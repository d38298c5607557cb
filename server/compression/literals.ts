// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Literals of Zstandard (RFC 8878, section 3.1.1.3.1): the bytes that a block does not repeat.
 *
 * @module
 */

import { corrupt } from "./bits.ts";
import { decodeHuffman, type HuffmanTable, readHuffman } from "./entropy.ts";

/** A block holds and makes at most so many bytes. */
export const MAX_BLOCK_BYTES = 128 * 1024;

/** The tree of the block before, which the next may take over. */
export interface TreeState {
  huffman: HuffmanTable | undefined;
}

/** The literals of a block with the number of bytes that described them. */
export function readLiterals(
  bytes: Uint8Array,
  state: TreeState,
): { readonly literals: Uint8Array; readonly size: number } {
  const first = bytes[0];
  if (first === undefined) throw corrupt("a block is cut off");
  const type = first & 3;
  const format = (first >> 2) & 3;
  if (type < 2) {
    const headBytes = [1, 2, 1, 3][format] ?? 1;
    const head = bytes.subarray(0, headBytes).reduceRight((value, byte) => value * 256 + byte, 0);
    const count = head >> (headBytes === 1 ? 3 : 4);
    const size = headBytes + (type === 0 ? count : 1);
    if (size > bytes.length || count > MAX_BLOCK_BYTES) throw corrupt("literals are cut off");
    const literals = type === 0
      ? bytes.subarray(headBytes, size)
      : new Uint8Array(count).fill(bytes[headBytes] ?? 0);
    return { literals, size };
  }
  const headBytes = [3, 3, 4, 5][format] ?? 3;
  const width = [10, 10, 14, 18][format] ?? 10;
  // Up to 40 bits, so no shifts of 32-bit numbers.
  const head = bytes.subarray(0, headBytes).reduceRight((value, byte) => value * 256 + byte, 0);
  const count = Math.floor(head / 16) % 2 ** width;
  const packed = Math.floor(head / 2 ** (4 + width)) % 2 ** width;
  const size = headBytes + packed;
  if (size > bytes.length || count > MAX_BLOCK_BYTES) throw corrupt("literals are cut off");
  let body = bytes.subarray(headBytes, size);
  if (type === 2) {
    const read = readHuffman(body);
    state.huffman = read.table;
    body = body.subarray(read.size);
  }
  if (state.huffman === undefined) throw corrupt("a tree is repeated before there is one");
  return { literals: decodeStreams(state.huffman, body, count, format === 0 ? 1 : 4), size };
}

function decodeStreams(
  table: HuffmanTable,
  bytes: Uint8Array,
  count: number,
  streams: 1 | 4,
): Uint8Array {
  const out = new Uint8Array(count);
  if (streams === 1) {
    decodeHuffman(table, bytes, out);
    return out;
  }
  if (bytes.length < 6) throw corrupt("literals are cut off");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const share = Math.floor((count + 3) / 4);
  let from = 6;
  for (let index = 0; index < 4; index++) {
    const to = index === 3 ? bytes.length : from + view.getUint16(index * 2, true);
    const end = index === 3 ? count : share * (index + 1);
    if (to > bytes.length || share * 3 > count) throw corrupt("literals are cut off");
    decodeHuffman(table, bytes.subarray(from, to), out.subarray(share * index, end));
    from = to;
  }
  return out;
}
