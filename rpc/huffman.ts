// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The Huffman code of HPACK (RFC 7541 §5.2), decoded four bits at a time.
 *
 * @module
 */

import { EOS, HUFFMAN_CODES, HUFFMAN_LENGTHS } from "./hpack_tables.ts";

// A cell of the decoding table: the next node in the low byte, then these flags, then the symbol.
const EMITS = 0x100;
const FAILS = 0x200;

interface DecodeTable {
  /** One cell for each (node, four bits). */
  readonly cells: Int32Array;
  /** Whether a string may end at a node: at the root, or inside of up to seven padding bits. */
  readonly mayEnd: Uint8Array;
}

const table = buildTable();

function buildTable(): DecodeTable {
  // The tree first: two children a node, a leaf as -1 - symbol.
  const children: number[] = [0, 0];
  for (let symbol = 0; symbol <= EOS; symbol++) {
    const length = HUFFMAN_LENGTHS[symbol] ?? 0;
    const code = HUFFMAN_CODES[symbol] ?? 0;
    let node = 0;
    for (let bit = length - 1; bit >= 0; bit--) {
      const at = node * 2 + ((code >>> bit) & 1);
      if (bit === 0) children[at] = -1 - symbol;
      else {
        if (children[at] === 0) {
          children[at] = children.length / 2;
          children.push(0, 0);
        }
        node = children[at] ?? 0;
      }
    }
  }
  const nodes = children.length / 2;
  const cells = new Int32Array(nodes * 16);
  for (let node = 0; node < nodes; node++) {
    for (let bits = 0; bits < 16; bits++) cells[node * 16 + bits] = cellOf(children, node, bits);
  }
  const mayEnd = new Uint8Array(nodes);
  for (let node = 0, depth = 0; depth < 8; depth++) {
    mayEnd[node] = 1;
    node = children[node * 2 + 1] ?? 0;
  }
  return { cells, mayEnd };
}

function cellOf(children: readonly number[], from: number, bits: number): number {
  let node = from;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const next = children[node * 2 + ((bits >>> bit) & 1)] ?? 0;
    if (next >= 0) {
      node = next;
      continue;
    }
    const symbol = -1 - next;
    if (symbol === EOS) return FAILS;
    // No code is shorter than five bits, so four bits end at most one.
    emitted = EMITS | (symbol << 16);
    node = 0;
  }
  return emitted | node;
}

/**
 * Decodes `source[start…end)` into `target` and returns how many bytes that made, or -1 when the
 * string is not valid. The target needs room for 8/5 of the source.
 */
export function huffmanDecode(
  source: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
): number {
  const { cells, mayEnd } = table;
  let node = 0;
  let length = 0;
  for (let at = start; at < end; at++) {
    const byte = source[at] as number;
    let cell = cells[node * 16 + (byte >>> 4)] as number;
    if ((cell & EMITS) !== 0) target[length++] = cell >>> 16;
    if ((cell & FAILS) !== 0) return -1;
    cell = cells[(cell & 0xff) * 16 + (byte & 15)] as number;
    if ((cell & EMITS) !== 0) target[length++] = cell >>> 16;
    if ((cell & FAILS) !== 0) return -1;
    node = cell & 0xff;
  }
  return mayEnd[node] === 1 ? length : -1;
}

/** How many bytes a text of Latin-1 characters takes when coded. */
export function huffmanLength(text: string): number {
  let bits = 0;
  for (let at = 0; at < text.length; at++) {
    bits += HUFFMAN_LENGTHS[text.charCodeAt(at) & 0xff] as number;
  }
  return (bits + 7) >>> 3;
}

/** Codes a text of Latin-1 characters into `target` from `offset` and returns where it ended. */
export function huffmanEncode(text: string, target: Uint8Array, offset: number): number {
  let at = offset;
  // At most 7 bits wait, and a code has at most 30: the accumulator is emptied bit-exactly below.
  let waiting = 0;
  let waitingBits = 0;
  for (let index = 0; index < text.length; index++) {
    const symbol = text.charCodeAt(index) & 0xff;
    const code = HUFFMAN_CODES[symbol] as number;
    let left = HUFFMAN_LENGTHS[symbol] as number;
    while (left > 0) {
      const take = Math.min(8 - waitingBits, left);
      waiting = (waiting << take) | ((code >>> (left - take)) & ((1 << take) - 1));
      waitingBits += take;
      left -= take;
      if (waitingBits === 8) {
        target[at++] = waiting;
        waiting = waitingBits = 0;
      }
    }
  }
  if (waitingBits > 0) target[at++] = (waiting << (8 - waitingBits)) | (0xff >>> waitingBits);
  return at;
}
