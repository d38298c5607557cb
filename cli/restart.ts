// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts the program again in its own process, with more in its environment.
 *
 * What the runtime reads from its environment when it starts cannot be set later. Process number,
 * arguments and open standard streams stay as they are.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { openCLibrary } from "../base/c_library.ts";
import { codeOf } from "../base/errors.ts";

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  execve: { parameters: ["buffer", "buffer", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type Library = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

const PIECE_BYTES = 64 * 1024;
const ADDRESS_BYTES = 8;

function openLibrary(): Library | undefined {
  try {
    return openCLibrary(SYMBOLS).symbols;
  } catch (error) {
    if (codeOf(error) === "unsupported") return undefined;
    throw error;
  }
}

/**
 * Reads what the kernel shows of the process: texts that each end with a zero byte; `undefined` when
 * that is impossible. The runtime itself reads it only for who may do everything.
 */
function readProcess(library: Library, what: "cmdline" | "environ"): Uint8Array | undefined {
  const file = library.open(new TextEncoder().encode(`/proc/self/${what}\0`), 0);
  if (file < 0) return undefined;
  const pieces: Uint8Array[] = [];
  let count: number;
  do {
    const piece = new Uint8Array(PIECE_BYTES);
    count = Number(library.read(file, piece, BigInt(PIECE_BYTES)));
    if (count > 0) pieces.push(piece.subarray(0, count));
  } while (count > 0);
  library.close(file);
  return count < 0 ? undefined : Buffer.concat(pieces);
}

/**
 * Texts as C takes a list of them: their addresses, a null, and in the same memory, so that it lives
 * as long, the texts themselves.
 */
function listOf(texts: Uint8Array): Uint8Array<ArrayBuffer> {
  const starts = [0, ...[...texts.entries()].flatMap(([at, byte]) => byte === 0 ? [at + 1] : [])];
  // The last zero begins no text.
  starts.pop();
  const textsAt = (starts.length + 1) * ADDRESS_BYTES;
  const list = new Uint8Array(textsAt + texts.length);
  list.set(texts, textsAt);
  const base = Deno.UnsafePointer.value(Deno.UnsafePointer.of(list)) + BigInt(textsAt);
  const view = new DataView(list.buffer);
  for (const [index, start] of starts.entries()) {
    view.setBigUint64(index * ADDRESS_BYTES, base + BigInt(start), true);
  }
  return list;
}

/**
 * Starts the program again if one of these variables is not set, with all that are missing. Goes on
 * as if nothing had been asked where that is impossible: without the permission to call the C library,
 * or on another system than Linux. What is set is left as it is.
 */
export function restartWith(variables: Readonly<Record<string, string>>): void {
  const missing = Object.entries(variables).filter(([name]) => Deno.env.get(name) === undefined);
  if (missing.length === 0) return;
  const library = openLibrary();
  if (library === undefined) return;
  const args = readProcess(library, "cmdline");
  // As it was at the start; the runtime changes its own copy.
  const environment = readProcess(library, "environ");
  if (args === undefined || environment === undefined) return;
  const encoder = new TextEncoder();
  const added = encoder.encode(missing.map((pair) => `${pair.join("=")}\0`).join(""));
  const path = encoder.encode(`${Deno.execPath()}\0`);
  library.execve(path, listOf(args), listOf(Buffer.concat([environment, added])));
}
