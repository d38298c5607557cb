// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, notDeepStrictEqual, throws } from "node:assert/strict";
import { packExecutable } from "./pack.ts";

const HEADERS_OFFSET = 64;

/** An ELF header with one loadable segment and program headers of the given types after it. */
function fakeRuntime(types: readonly number[], machine = 62): Uint8Array {
  const file = new Uint8Array(1024);
  const view = new DataView(file.buffer);
  view.setUint32(0, 0x7f454c46);
  view.setUint16(18, machine, true);
  view.setBigUint64(24, 0x100n, true);
  view.setBigUint64(32, BigInt(HEADERS_OFFSET), true);
  view.setUint16(56, types.length, true);
  types.forEach((type, index) => view.setUint32(HEADERS_OFFSET + 56 * index, type, true));
  // The memory image of the first segment is longer than the file.
  view.setBigUint64(HEADERS_OFFSET + 40, 5000n, true);
  return file;
}

function pack(runtime: Uint8Array, program = "program"): Uint8Array {
  return packExecutable({ runtime, program: new TextEncoder().encode(program), flags: ["--flag"] });
}

Deno.test("packExecutable() puts its segment behind file and memory image, and enters there", () => {
  const file = pack(fakeRuntime([1, 4]));
  const view = new DataView(file.buffer);
  const header = HEADERS_OFFSET + 56;
  const offset = 8192;
  deepStrictEqual(
    {
      type: view.getUint32(header, true),
      offset: Number(view.getBigUint64(header + 8, true)),
      address: Number(view.getBigUint64(header + 16, true)),
      size: Number(view.getBigUint64(header + 32, true)),
      entry: Number(view.getBigUint64(24, true)),
    },
    { type: 1, offset, address: offset, size: file.length - offset, entry: offset },
  );
});

Deno.test("packExecutable() gives the same bytes for the same input", () => {
  deepStrictEqual(pack(fakeRuntime([1, 4])), pack(fakeRuntime([1, 4])));
  notDeepStrictEqual(pack(fakeRuntime([1, 4])), pack(fakeRuntime([1, 4]), "another"));
});

Deno.test("packExecutable() refuses a runtime that it cannot extend", () => {
  throws(() => pack(new Uint8Array(1024)), /not an executable for x86-64 Linux/);
  throws(() => pack(fakeRuntime([1, 4], 183)), /not an executable for x86-64 Linux/);
  throws(() => pack(fakeRuntime([4, 1])), /last program header of the runtime is not a note/);
});
