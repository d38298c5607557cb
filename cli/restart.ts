// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts the program again in its own process, with more in its environment.
 *
 * What the runtime reads from its environment when it starts cannot be set later. Process number,
 * arguments and open standard streams stay as they are.
 *
 * @module
 */

const SYMBOLS = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  execve: { parameters: ["buffer", "buffer", "buffer"], result: "i32" },
} as const satisfies Deno.ForeignLibraryInterface;

type Library = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

/** glibc, then musl on both processors. */
const LIBRARIES = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const PIECE_BYTES = 64 * 1024;

function openLibrary(): Library | undefined {
  for (const name of LIBRARIES) {
    try {
      return Deno.dlopen(name, SYMBOLS).symbols;
    } catch { /* The next one may be there. */ }
  }
  return undefined;
}

/**
 * Reads what the kernel shows of the process; empty when that is impossible. The runtime itself reads
 * it only for who may do everything.
 */
function readProcess(library: Library, what: "cmdline" | "environ"): Uint8Array<ArrayBuffer> {
  const file = library.open(new TextEncoder().encode(`/proc/self/${what}\0`), 0);
  const piece = new Uint8Array(PIECE_BYTES);
  const bytes: number[] = [];
  for (;;) {
    const count = Number(library.read(file, piece, BigInt(piece.length)));
    if (count <= 0) break;
    bytes.push(...piece.subarray(0, count));
  }
  library.close(file);
  return new Uint8Array(bytes);
}

/** Texts as the kernel shows them: each ends with a zero byte. */
function splitTexts(bytes: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer>[] {
  const texts: Uint8Array<ArrayBuffer>[] = [];
  for (let start = 0, end = 0; start < bytes.length; start = end) {
    const zero = bytes.indexOf(0, start);
    end = zero < 0 ? bytes.length : zero + 1;
    texts.push(bytes.slice(start, end));
  }
  return texts;
}

/** Texts as C takes them: addresses with a null after the last. */
function addressesOf(texts: readonly Uint8Array<ArrayBuffer>[]): BigUint64Array<ArrayBuffer> {
  const addresses = new BigUint64Array(texts.length + 1);
  for (const [at, text] of texts.entries()) {
    addresses[at] = Deno.UnsafePointer.value(Deno.UnsafePointer.of(text));
  }
  return addresses;
}

/**
 * Starts the program again if one of these variables is not set, with all that are missing. Goes on
 * as if nothing had been asked where that is impossible: without the permission to call the C library,
 * or on another system than Linux. What is set is left as it is.
 */
export function restartWith(variables: Readonly<Record<string, string>>): void {
  const missing = Object.entries(variables).filter(([name]) => Deno.env.get(name) === undefined);
  const isAllowed = Deno.build.os === "linux" &&
    Deno.permissions.querySync({ name: "ffi" }).state === "granted";
  if (missing.length === 0 || !isAllowed) return;
  const library = openLibrary();
  if (library === undefined) return;
  const encoder = new TextEncoder();
  const args = splitTexts(readProcess(library, "cmdline"));
  if (args.length === 0) return;
  // As it was at the start; the runtime changes its own copy.
  const environment = splitTexts(readProcess(library, "environ"));
  for (const pair of missing) environment.push(encoder.encode(`${pair.join("=")}\0`));
  const path = encoder.encode(`${Deno.execPath()}\0`);
  library.execve(path, addressesOf(args), addressesOf(environment));
}
