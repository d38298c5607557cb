// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Sequences of Zstandard (RFC 8878, section 3.1.1.3.2): how many literals to take, and what to repeat
 * from how far back.
 *
 * @module
 */

import { BackwardBits, corrupt } from "./bits.ts";
import { buildFse, type FseTable, readFse, singleFse } from "./entropy.ts";

/** A code's value without and the number of its further bits. */
interface Code {
  readonly base: number;
  readonly bits: number;
}

/** Codes that follow each other without gaps: each begins where the one before ended. */
function codesFrom(first: number, widths: readonly number[]): readonly Code[] {
  let base = first;
  return widths.map((bits) => {
    const code = { base, bits };
    base += 2 ** bits;
    return code;
  });
}

function zeros(count: number): readonly number[] {
  return new Array<number>(count).fill(0);
}

const LITERAL_CODES = codesFrom(0, [
  ...zeros(16),
  ...[1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
]);
const MATCH_CODES = codesFrom(3, [
  ...zeros(32),
  ...[1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
]);
/** Offsets above this do not fit what a window may be. */
const MAX_OFFSET_CODE = 31;

// The distributions of the format for blocks that describe none.
const LITERAL_DEFAULT = buildFse([
  ...[4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1],
  ...[1, 1, -1, -1, -1, -1],
], 6);
const MATCH_DEFAULT = buildFse([
  ...[1, 4, 3, 2, 2, 2, 2, 2, 2],
  ...new Array<number>(37).fill(1),
  ...new Array<number>(7).fill(-1),
], 6);
const OFFSET_DEFAULT = buildFse([
  ...[1, 1, 1, 1, 1, 1, 2, 2, 2],
  ...new Array<number>(15).fill(1),
  ...new Array<number>(5).fill(-1),
], 5);

/** The tables of one block, which the next may take over. */
export interface SequenceTables {
  readonly literals: FseTable;
  readonly offsets: FseTable;
  readonly matches: FseTable;
}

/** What a table may be at most, by its kind. */
const KINDS = {
  literals: { accuracy: 9, symbols: LITERAL_CODES.length - 1, standard: LITERAL_DEFAULT },
  offsets: { accuracy: 8, symbols: MAX_OFFSET_CODE, standard: OFFSET_DEFAULT },
  matches: { accuracy: 9, symbols: MATCH_CODES.length - 1, standard: MATCH_DEFAULT },
} as const;

/** Reads a table of a kind; returns it with the number of its bytes. */
export function readSequenceTable(
  kind: keyof SequenceTables,
  bytes: Uint8Array,
): { readonly table: FseTable; readonly size: number } {
  return readFse(bytes, KINDS[kind].accuracy, KINDS[kind].symbols);
}

function selectTable(
  kind: keyof SequenceTables,
  mode: number,
  bytes: Uint8Array,
  previous: SequenceTables | undefined,
): { readonly table: FseTable; readonly size: number } {
  switch (mode) {
    case 0:
      return { table: KINDS[kind].standard, size: 0 };
    case 1: {
      const symbol = bytes[0];
      if (symbol === undefined || symbol > KINDS[kind].symbols) throw corrupt("a code is unknown");
      return { table: singleFse(symbol), size: 1 };
    }
    case 2:
      return readSequenceTable(kind, bytes);
    default:
      if (previous === undefined) throw corrupt("a table is repeated before there is one");
      return { table: previous[kind], size: 0 };
  }
}

/** One step of the output. */
export interface Sequence {
  readonly literals: number;
  readonly matchLength: number;
  /** As coded: 1 to 3 name earlier offsets, others are the offset plus 3. */
  readonly offset: number;
}

/** The sequences of a block with the tables that they used. */
export interface SequenceSection {
  readonly sequences: Iterable<Sequence>;
  /** Absent for a block without sequences, which leaves the earlier tables in force. */
  readonly tables: SequenceTables | undefined;
}

function readCount(bytes: Uint8Array): { readonly count: number; readonly size: number } {
  const [first = 0, second = 0, third = 0] = bytes;
  if (bytes.length === 0) throw corrupt("a block is cut off");
  if (first < 128) return { count: first, size: 1 };
  if (first < 255) return { count: ((first - 128) << 8) + second, size: 2 };
  return { count: second + (third << 8) + 0x7f00, size: 3 };
}

/** Reads the sequences of a block. */
export function readSequences(
  bytes: Uint8Array,
  previous: SequenceTables | undefined,
): SequenceSection {
  const { count, size } = readCount(bytes);
  if (count === 0) return { sequences: [], tables: undefined };
  const modes = bytes[size] ?? 0;
  if ((modes & 3) !== 0) throw corrupt("a block has reserved bits");
  let at = size + 1;
  const take = (kind: keyof SequenceTables, mode: number): FseTable => {
    const selected = selectTable(kind, mode, bytes.subarray(at), previous);
    at += selected.size;
    return selected.table;
  };
  const literals = take("literals", modes >> 6);
  const offsets = take("offsets", (modes >> 4) & 3);
  const matches = take("matches", (modes >> 2) & 3);
  const tables = { literals, offsets, matches };
  return { sequences: decodeSequences(bytes.subarray(at), count, tables), tables };
}

function* decodeSequences(
  bytes: Uint8Array,
  count: number,
  { literals, offsets, matches }: SequenceTables,
): Generator<Sequence> {
  const stream = new BackwardBits(bytes);
  let literalState = stream.read(literals.accuracy);
  let offsetState = stream.read(offsets.accuracy);
  let matchState = stream.read(matches.accuracy);
  for (let index = 0; index < count; index++) {
    const offsetCode = offsets.symbols[offsetState] ?? 0;
    const match = MATCH_CODES[matches.symbols[matchState] ?? 0];
    const literal = LITERAL_CODES[literals.symbols[literalState] ?? 0];
    if (match === undefined || literal === undefined) throw corrupt("a code is unknown");
    const offset = 2 ** offsetCode + stream.read(offsetCode);
    const matchLength = match.base + stream.read(match.bits);
    const literalCount = literal.base + stream.read(literal.bits);
    if (stream.left < 0) throw corrupt("sequences are cut off");
    yield { literals: literalCount, matchLength, offset };
    if (index === count - 1) break;
    literalState = (literals.bases[literalState] ?? 0) +
      stream.read(literals.bits[literalState] ?? 0);
    matchState = (matches.bases[matchState] ?? 0) + stream.read(matches.bits[matchState] ?? 0);
    offsetState = (offsets.bases[offsetState] ?? 0) + stream.read(offsets.bits[offsetState] ?? 0);
  }
  if (stream.left !== 0) throw corrupt("sequences have another length");
}
