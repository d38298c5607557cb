// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { zstdCompressSync } from "node:zlib";
import { openDecompressor } from "./dictionary.ts";

const SHARED = new URL("../../../shared/data/omni/config.1.zdict", import.meta.url);
/** The head of a frame that names dictionary 1 and holds nothing. */
const NAMES_DICTIONARY = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x21, 1, 0, 1, 0, 0);

function exists(url: URL): boolean {
  try {
    return Deno.statSync(url).isFile;
  } catch {
    return false;
  }
}

Deno.test("openDecompressor() reads plain frames without the dictionary and names the command for others", () => {
  const { note, decompress } = openDecompressor("/nonexistent/config.1.zdict");
  strictEqual(note?.includes("batuta dictionary --fetch"), true);
  const text = new TextEncoder().encode("machine: {}\n");
  deepStrictEqual(decompress(new Uint8Array(zstdCompressSync(text))), text);
  throws(() => decompress(NAMES_DICTIONARY), {
    code: "invalidArgument",
    message: /batuta dictionary --fetch/,
  });
});

Deno.test("openDecompressor() refuses a file that is another dictionary", async () => {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, new Uint8Array(65_536));
    throws(() => openDecompressor(path), { code: "invalidArgument", message: /SHA-256/ });
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("openDecompressor() bounds what a field may grow to", () => {
  const { decompress } = openDecompressor("/nonexistent/config.1.zdict");
  const bomb = new Uint8Array(zstdCompressSync(new Uint8Array(8 << 20)));
  throws(() => decompress(bomb), /more than 1048576 bytes/);
});

Deno.test({
  name: "openDecompressor() uses the dictionary once it is there (needs ../shared)",
  ignore: !exists(SHARED),
  fn() {
    const { note, decompress } = openDecompressor(SHARED.pathname);
    strictEqual(note, undefined);
    deepStrictEqual(decompress(NAMES_DICTIONARY), new Uint8Array());
  },
});
