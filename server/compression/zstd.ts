// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Decompresses Zstandard (RFC 8878) with a trained dictionary, which the runtime's own library
 * ignores. The size of the result is bounded before anything is written.
 *
 * Checksums at the end of frames are not compared: what travels here is checked by its transport.
 *
 * @module
 */

import { corrupt } from "./bits.ts";
import { type HuffmanTable, readHuffman } from "./entropy.ts";
import { MAX_BLOCK_BYTES, readLiterals } from "./literals.ts";
import { readSequences, readSequenceTable, type SequenceTables } from "./sequences.ts";

const FRAME_MAGIC = 0xfd2fb528;
const DICTIONARY_MAGIC = 0xec30a437;

/** Nobody writes more; each costs time even when it is empty. */
const MAX_FRAMES = 64;

type RepeatedOffsets = readonly [number, number, number];

/** A trained dictionary, read once. */
export interface Dictionary {
  readonly id: number;
  readonly huffman: HuffmanTable;
  readonly tables: SequenceTables;
  readonly offsets: RepeatedOffsets;
  /** What matches may reach into. */
  readonly content: Uint8Array;
}

function u32(bytes: Uint8Array, at: number): number {
  if (at + 4 > bytes.length) throw corrupt("it is cut off");
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);
}

/** Reads a dictionary. Throws `invalidArgument` when the bytes are none. */
export function readDictionary(bytes: Uint8Array): Dictionary {
  if (u32(bytes, 0) !== DICTIONARY_MAGIC) throw corrupt("the dictionary is none");
  let at = 8;
  const take = <T>(read: (rest: Uint8Array) => { readonly table: T; readonly size: number }): T => {
    const { table, size } = read(bytes.subarray(at));
    at += size;
    return table;
  };
  const huffman = take(readHuffman);
  const offsets = take((rest) => readSequenceTable("offsets", rest));
  const matches = take((rest) => readSequenceTable("matches", rest));
  const literals = take((rest) => readSequenceTable("literals", rest));
  return {
    id: u32(bytes, 4),
    huffman,
    tables: { literals, offsets, matches },
    offsets: [u32(bytes, at), u32(bytes, at + 4), u32(bytes, at + 8)],
    content: bytes.slice(at + 12),
  };
}

/** What the header of a frame says. */
export interface FrameHeader {
  /** Bytes of the header. */
  readonly size: number;
  /** The dictionary that the frame needs; 0 for none. */
  readonly dictionaryId: number;
  /** Bytes of the result, where the frame says so. */
  readonly contentBytes: number | undefined;
  readonly hasChecksum: boolean;
}

/** Reads the header of a frame. Throws `invalidArgument` when the bytes are none. */
export function readFrameHeader(bytes: Uint8Array): FrameHeader {
  if (u32(bytes, 0) !== FRAME_MAGIC) throw corrupt("it is no Zstandard frame");
  const descriptor = bytes[4];
  if (descriptor === undefined || (descriptor & 8) !== 0) throw corrupt("the header is malformed");
  const isSingle = (descriptor & 32) !== 0;
  const sizeFlag = descriptor >> 6;
  const idBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const sizeBytes = [isSingle ? 1 : 0, 2, 4, 8][sizeFlag] ?? 0;
  const idAt = isSingle ? 5 : 6;
  const sizeAt = idAt + idBytes;
  if (sizeAt + sizeBytes > bytes.length) throw corrupt("the header is cut off");
  const number = (at: number, count: number): number =>
    bytes.subarray(at, at + count).reduceRight((value, byte) => value * 256 + byte, 0);
  return {
    size: sizeAt + sizeBytes,
    dictionaryId: number(idAt, idBytes),
    contentBytes: sizeBytes === 0
      ? undefined
      : number(sizeAt, sizeBytes) + (sizeFlag === 1 ? 256 : 0),
    hasChecksum: (descriptor & 4) !== 0,
  };
}

/** Grows up to a bound. */
class Output {
  readonly #maxBytes: number;
  readonly #prefix: Uint8Array;
  #bytes: Uint8Array;
  #length = 0;

  constructor(maxBytes: number, expectedBytes: number, prefix: Uint8Array) {
    this.#maxBytes = maxBytes;
    this.#prefix = prefix;
    this.#bytes = new Uint8Array(Math.min(expectedBytes, maxBytes));
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed > this.#maxBytes) throw corrupt(`it has more than ${this.#maxBytes} bytes`);
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.min(this.#maxBytes, Math.max(needed, needed * 2)));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }

  append(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  fill(byte: number, count: number): void {
    this.#reserve(count);
    this.#bytes.fill(byte, this.#length, this.#length + count);
    this.#length += count;
  }

  /** Repeats what was written `offset` bytes ago; before the beginning lies the dictionary. */
  repeat(offset: number, count: number): void {
    if (offset > this.#length + this.#prefix.length) throw corrupt("a match begins nowhere");
    this.#reserve(count);
    for (let done = 0; done < count; done++) {
      const from = this.#length - offset;
      this.#bytes[this.#length++] =
        (from < 0 ? this.#prefix[this.#prefix.length + from] : this.#bytes[from]) ?? 0;
    }
  }

  get length(): number {
    return this.#length;
  }

  take(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }
}

/** What one block leaves to the next. */
interface BlockState {
  huffman: HuffmanTable | undefined;
  tables: SequenceTables | undefined;
  offsets: RepeatedOffsets;
}

/** The distance that a coded offset stands for, and the offsets that the next may name. */
function resolveOffset(
  coded: number,
  hasLiterals: boolean,
  [first, second, third]: RepeatedOffsets,
): RepeatedOffsets {
  if (coded > 3) return [coded - 3, first, second];
  // Without literals before it the latest offset would only lengthen the match before.
  switch (hasLiterals ? coded : coded + 1) {
    case 1:
      return [first, second, third];
    case 2:
      return [second, first, third];
    case 3:
      return [third, first, second];
    default:
      return [first - 1, first, second];
  }
}

function decodeBlock(bytes: Uint8Array, state: BlockState, output: Output): void {
  const { literals, size } = readLiterals(bytes, state);
  const { sequences, tables } = readSequences(bytes.subarray(size), state.tables);
  let at = 0;
  const before = output.length;
  for (const sequence of sequences) {
    const end = at + sequence.literals;
    if (end > literals.length) throw corrupt("there are too few literals");
    output.append(literals.subarray(at, end));
    at = end;
    state.offsets = resolveOffset(sequence.offset, sequence.literals > 0, state.offsets);
    const [offset] = state.offsets;
    if (offset <= 0) throw corrupt("a match begins nowhere");
    output.repeat(offset, sequence.matchLength);
    if (output.length - before > MAX_BLOCK_BYTES) throw corrupt("a block is too large");
  }
  output.append(literals.subarray(at));
  if (tables !== undefined) state.tables = tables;
}

/** Decodes the blocks from `at` on and returns where they end. */
function decodeBlocks(bytes: Uint8Array, from: number, state: BlockState, output: Output): number {
  let at = from;
  for (let isLast = false; !isLast;) {
    if (at + 3 > bytes.length) throw corrupt("it is cut off");
    const head = (bytes[at] ?? 0) | (bytes[at + 1] ?? 0) << 8 | (bytes[at + 2] ?? 0) << 16;
    at += 3;
    isLast = (head & 1) === 1;
    const type = (head >> 1) & 3;
    const count = head >> 3;
    const size = type === 1 ? 1 : count;
    if (type === 3 || count > MAX_BLOCK_BYTES || at + size > bytes.length) {
      throw corrupt("a block is malformed");
    }
    const block = bytes.subarray(at, at + size);
    if (type === 0) output.append(block);
    else if (type === 1) output.fill(block[0] ?? 0, count);
    else decodeBlock(block, state, output);
    at += size;
  }
  return at;
}

/** Decodes the frame at the beginning and returns its result with the bytes that it took. */
function decodeFrame(
  bytes: Uint8Array,
  maxBytes: number,
  dictionary: Dictionary | undefined,
): { readonly content: Uint8Array; readonly size: number } {
  const { contentBytes, dictionaryId, hasChecksum, size } = readFrameHeader(bytes);
  if (contentBytes !== undefined && contentBytes > maxBytes) {
    throw corrupt(`it has more than ${maxBytes} bytes`);
  }
  if (dictionaryId !== 0 && dictionaryId !== dictionary?.id) {
    throw corrupt(`it needs dictionary ${dictionaryId}`);
  }
  const used = dictionaryId === 0 ? undefined : dictionary;
  const output = new Output(maxBytes, contentBytes ?? 4096, used?.content ?? new Uint8Array());
  const state: BlockState = {
    huffman: used?.huffman,
    tables: used?.tables,
    offsets: used?.offsets ?? [1, 4, 8],
  };
  const end = decodeBlocks(bytes, size, state, output) + (hasChecksum ? 4 : 0);
  if (end > bytes.length) throw corrupt("it is cut off");
  if (contentBytes !== undefined && output.length !== contentBytes) {
    throw corrupt("its size is not what it says");
  }
  return { content: output.take(), size: end };
}

/**
 * Decompresses one frame, or several behind each other as some writers make them.
 *
 * @param maxBytes The result has at most so many bytes.
 * @param dictionary The dictionary that frames may name; unused by those that name none.
 * @throws CodedError `invalidArgument` for bytes that are no such frames.
 */
export function decompressFrames(
  bytes: Uint8Array,
  maxBytes: number,
  dictionary?: Dictionary,
): Uint8Array {
  const first = decodeFrame(bytes, maxBytes, dictionary);
  if (first.size === bytes.length) return first.content;
  const parts = [first.content];
  let total = first.content.length;
  for (let at = first.size; at < bytes.length;) {
    if (parts.length === MAX_FRAMES) throw corrupt(`it has more than ${MAX_FRAMES} frames`);
    const { content, size } = decodeFrame(bytes.subarray(at), maxBytes - total, dictionary);
    parts.push(content);
    total += content.length;
    at += size;
  }
  const whole = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
