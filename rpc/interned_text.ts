// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Texts of headers that come again and again, on one connection or on many.
 *
 * A text is looked up by its bytes on the wire, so that a known one is neither decoded nor checked
 * nor stored again. The table has a fixed size; what comes next to the same place replaces what was
 * there. Secrets do not belong in it: how long a lookup takes shows whether a text is known.
 *
 * @module
 */

/** A text as it was decoded. */
export interface InternedText {
  readonly wire: Uint8Array;
  readonly coded: boolean;
  readonly isName: boolean;
  readonly text: string;
  /** Whether it has a character that its place does not allow. */
  readonly isBad: boolean;
}

const PLACES = 1024;
const MAX_BYTES = 64;

const places: (InternedText | undefined)[] = new Array(PLACES).fill(undefined);

/**
 * The place of a text, -1 for one too long to be kept.
 *
 * @param salt Tells apart texts with the same bytes that were decoded in different ways.
 */
export function placeOf(buffer: Uint8Array, start: number, end: number, salt: number): number {
  if (end - start > MAX_BYTES) return -1;
  let hash = 0x811c9dc5 ^ salt;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (buffer[at] as number), 0x01000193);
  return (hash ^ (hash >>> 15)) & (PLACES - 1);
}

/** The text at a place when it is that of `buffer[start…end)`. */
export function findText(
  place: number,
  buffer: Uint8Array,
  start: number,
  end: number,
  coded: boolean,
  isName: boolean,
): InternedText | undefined {
  const found = places[place];
  if (
    found === undefined || found.coded !== coded || found.isName !== isName ||
    found.wire.length !== end - start
  ) return undefined;
  const { wire } = found;
  for (let at = 0; at < wire.length; at++) if (wire[at] !== buffer[start + at]) return undefined;
  return found;
}

/** Puts a text in its place. */
export function keepText(place: number, text: InternedText): void {
  places[place] = text;
}
