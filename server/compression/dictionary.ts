// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The dictionary with which the public client compresses large fields.
 *
 * It is a data file of that client and not part of this program: the operator puts it beside the
 * state. Without it everything works but what needs it, which says so.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { DICTIONARY, isDictionary } from "../config/dictionary_file.ts";
import { decompressFrames, type Dictionary, readDictionary, readFrameHeader } from "./zstd.ts";

/** How an operator puts it where it belongs. */
const REMEDY = 'run "batuta dictionary --fetch" or "batuta dictionary --file FILE" on the server';

/** No configuration and no manifest of use is larger, in bytes. */
const MAX_CONTENT_BYTES = 16 << 20;
/** Small fields may grow to this whatever their ratio, in bytes. */
const FREE_CONTENT_BYTES = 1 << 20;
/** Text does not compress better than this even when it repeats itself. */
const MAX_RATIO = 256;

/** Reads compressed fields. */
export interface Decompressor {
  /** What an operator should know; absent when the dictionary is there. */
  readonly note: string | undefined;
  /**
   * Decompresses a field.
   *
   * @throws CodedError `invalidArgument` for what is malformed or too large, or needs the dictionary
   *   while it is missing.
   */
  decompress(bytes: Uint8Array): Uint8Array;
}

function readFile(path: string): Uint8Array | undefined {
  try {
    return Deno.readFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw new CodedError("invalidArgument", `Cannot read the dictionary "${path}"`, {
      cause: error,
    });
  }
}

/**
 * Opens the dictionary, or does without.
 *
 * @throws CodedError `invalidArgument` for a file that is there but not the dictionary.
 */
export function openDecompressor(path: string): Decompressor {
  const bytes = readFile(path);
  if (bytes !== undefined && !isDictionary(bytes)) {
    throw new CodedError(
      "invalidArgument",
      `Cannot use the dictionary "${path}": its SHA-256 must be ${DICTIONARY.sha256}; ${REMEDY}`,
    );
  }
  return createDecompressor(bytes === undefined ? undefined : readDictionary(bytes));
}

/** Creates a decompressor with or without the dictionary. */
export function createDecompressor(dictionary: Dictionary | undefined): Decompressor {
  return {
    note: dictionary === undefined
      ? `the dictionary of compressed fields is missing: ${REMEDY}`
      : undefined,
    decompress(bytes) {
      if (dictionary === undefined && readFrameHeader(bytes).dictionaryId === DICTIONARY.id) {
        throw new CodedError(
          "invalidArgument",
          `Cannot decompress: the dictionary of compressed fields is missing; ${REMEDY}`,
        );
      }
      const allowed = Math.max(FREE_CONTENT_BYTES, bytes.length * MAX_RATIO);
      return decompressFrames(bytes, Math.min(MAX_CONTENT_BYTES, allowed), dictionary);
    },
  };
}
