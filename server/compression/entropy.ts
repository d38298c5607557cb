// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The two entropy codes of Zstandard (RFC 8878, section 4): finite state entropy and Huffman.
 *
 * @module
 */

import { BackwardBits, corrupt, ForwardBits } from "./bits.ts";

/** A table that decodes symbols by state. */
export interface FseTable {
  /** Bits of the first state. */
  readonly accuracy: number;
  readonly symbols: Uint8Array;
  /** Bits to read for the next state, by state. */
  readonly bits: Uint8Array;
  /** What those bits are added to, by state. */
  readonly bases: Uint16Array;
}

/** A table that decodes symbols by the next {@linkcode HuffmanTable.maxBits} bits. */
export interface HuffmanTable {
  readonly maxBits: number;
  readonly symbols: Uint8Array;
  readonly bits: Uint8Array;
}

function log2(value: number): number {
  return 31 - Math.clz32(value);
}

/** Builds a table from probabilities; -1 stands for less than one. */
export function buildFse(probabilities: readonly number[], accuracy: number): FseTable {
  const size = 1 << accuracy;
  const symbols = new Uint8Array(size);
  const next = new Uint16Array(probabilities.length);
  let high = size;
  for (const [symbol, probability] of probabilities.entries()) {
    if (probability === -1) symbols[--high] = symbol;
    next[symbol] = probability === -1 ? 1 : probability;
  }
  const step = (size >> 1) + (size >> 3) + 3;
  let position = 0;
  for (const [symbol, probability] of probabilities.entries()) {
    for (let count = 0; count < probability; count++) {
      symbols[position] = symbol;
      do position = (position + step) & (size - 1); while (position >= high);
    }
  }
  if (position !== 0) throw corrupt("probabilities do not fill their table");
  const bits = new Uint8Array(size);
  const bases = new Uint16Array(size);
  for (let state = 0; state < size; state++) {
    const symbol = symbols[state] ?? 0;
    const number = next[symbol] ?? 0;
    next[symbol] = number + 1;
    const width = accuracy - log2(number);
    bits[state] = width;
    bases[state] = (number << width) - size;
  }
  return { accuracy, symbols, bits, bases };
}

/** A table with a single symbol that takes no bits. */
export function singleFse(symbol: number): FseTable {
  return {
    accuracy: 0,
    symbols: Uint8Array.of(symbol),
    bits: Uint8Array.of(0),
    bases: Uint16Array.of(0),
  };
}

/** Reads the description of a table; returns it with the number of its bytes. */
export function readFse(
  bytes: Uint8Array,
  maxAccuracy: number,
  maxSymbol: number,
): { readonly table: FseTable; readonly size: number } {
  const reader = new ForwardBits(bytes);
  const accuracy = reader.read(4) + 5;
  if (accuracy > maxAccuracy) throw corrupt("a table is too fine");
  const probabilities: number[] = [];
  let remaining = 1 << accuracy;
  while (remaining > 0) {
    const probability = readProbability(reader, remaining);
    probabilities.push(probability);
    remaining -= Math.abs(probability);
    if (probability === 0) {
      for (let repeat = 3; repeat === 3;) {
        repeat = reader.read(2);
        for (let count = 0; count < repeat; count++) probabilities.push(0);
      }
    }
    if (probabilities.length > maxSymbol + 1) throw corrupt("a table has too many symbols");
  }
  if (remaining < 0) throw corrupt("probabilities exceed their table");
  return { table: buildFse(probabilities, accuracy), size: reader.byteLength };
}

/** Small values take one bit less; which ones depends on what is left to distribute. */
function readProbability(reader: ForwardBits, remaining: number): number {
  const width = log2(remaining + 1) + 1;
  const value = reader.read(width);
  const lowMask = (1 << (width - 1)) - 1;
  const threshold = (1 << width) - 1 - (remaining + 1);
  if ((value & lowMask) < threshold) {
    reader.rewind(1);
    return (value & lowMask) - 1;
  }
  return (value > lowMask ? value - threshold : value) - 1;
}

/** Reads the description of a Huffman table; returns it with the number of its bytes. */
export function readHuffman(
  bytes: Uint8Array,
): { readonly table: HuffmanTable; readonly size: number } {
  const head = bytes[0] ?? 0;
  if (head >= 128) {
    const count = head - 127;
    const size = 1 + Math.ceil(count / 2);
    if (size > bytes.length) throw corrupt("weights are cut off");
    const weights = Array.from({ length: count }, (_, index) => {
      const pair = bytes[1 + (index >> 1)] ?? 0;
      return index % 2 === 0 ? pair >> 4 : pair & 15;
    });
    return { table: buildHuffman(weights), size };
  }
  const size = 1 + head;
  if (head === 0 || size > bytes.length) throw corrupt("weights are cut off");
  const described = readFse(bytes.subarray(1, size), 6, 255);
  const stream = new BackwardBits(bytes.subarray(1 + described.size, size));
  return { table: buildHuffman(readWeights(described.table, stream)), size };
}

/** Two states take turns until the bits are used up. */
function readWeights({ accuracy, symbols, bits, bases }: FseTable, stream: BackwardBits): number[] {
  const weights: number[] = [];
  let [current, other] = [stream.read(accuracy), stream.read(accuracy)];
  while (weights.length < 255) {
    weights.push(symbols[current] ?? 0);
    const following = (bases[current] ?? 0) + stream.read(bits[current] ?? 0);
    if (stream.left < 0) {
      weights.push(symbols[other] ?? 0);
      return weights;
    }
    [current, other] = [other, following];
  }
  throw corrupt("there are too many weights");
}

/** The last weight is not written: it is what completes the sum to a power of two. */
function buildHuffman(written: readonly number[]): HuffmanTable {
  const sum = written.reduce((total, weight) => total + (weight > 0 ? 2 ** (weight - 1) : 0), 0);
  if (sum === 0 || sum >= 1 << 11) throw corrupt("weights do not make a tree");
  const maxBits = log2(sum) + 1;
  const rest = (1 << maxBits) - sum;
  if ((rest & (rest - 1)) !== 0) throw corrupt("weights do not make a tree");
  const weights = [...written, log2(rest) + 1];
  const symbols = new Uint8Array(1 << maxBits);
  const bits = new Uint8Array(1 << maxBits);
  let position = 0;
  for (let weight = 1; weight <= maxBits; weight++) {
    for (const [symbol, own] of weights.entries()) {
      if (own !== weight) continue;
      const end = position + (1 << (weight - 1));
      symbols.fill(symbol, position, end);
      bits.fill(maxBits + 1 - weight, position, end);
      position = end;
    }
  }
  if (position !== 1 << maxBits) throw corrupt("weights do not make a tree");
  return { maxBits, symbols, bits };
}

/** Decodes one stream of exactly `out.length` symbols. */
export function decodeHuffman(table: HuffmanTable, bytes: Uint8Array, out: Uint8Array): void {
  const { maxBits, symbols, bits } = table;
  const stream = new BackwardBits(bytes);
  for (let index = 0; index < out.length; index++) {
    const code = stream.peek(maxBits);
    out[index] = symbols[code] ?? 0;
    stream.left -= bits[code] ?? 0;
  }
  if (stream.left !== 0) throw corrupt("a stream of literals has another length");
}
