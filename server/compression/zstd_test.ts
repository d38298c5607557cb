// SPDX-License-Identifier: AGPL-3.0-or-later

import { compressUsingDict, createCCtx, freeCCtx, init } from "@bokuweb/zstd-wasm";
import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import { constants, zstdCompressSync } from "node:zlib";
import { codeOf } from "../../base/errors.ts";
import { decompressFrames, readDictionary } from "./zstd.ts";

const DICTIONARY = new URL("../../../shared/data/omni/config.1.zdict", import.meta.url);
const LIMIT = 4 << 20;

function readBytes(url: URL): Uint8Array | undefined {
  try {
    return Deno.readFileSync(url);
  } catch {
    return undefined;
  }
}

const dictionaryBytes = readBytes(DICTIONARY);

/** Reproducible numbers in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Text with more or less repetition, from a single byte to some hundred thousand. */
function makeText(random: () => number): Uint8Array {
  const words = Array.from(
    { length: 1 + Math.floor(random() * 200) },
    () => random().toString(36).slice(2, 3 + Math.floor(random() * 9)),
  );
  const count = Math.floor(10 ** (random() * 5));
  const parts: string[] = [];
  for (let index = 0; index < count; index++) {
    parts.push(
      words[Math.floor(random() ** 2 * words.length)] ?? "",
      random() < 0.1 ? "\n  " : " ",
    );
  }
  return new TextEncoder().encode(parts.join(""));
}

function compress(text: Uint8Array, level: number): Uint8Array {
  const params = { [constants.ZSTD_c_compressionLevel]: level };
  return new Uint8Array(zstdCompressSync(text, { params }));
}

Deno.test("decompressFrames() reads what the runtime's library writes at every level", () => {
  const random = randomFrom(1);
  for (let round = 0; round < 12; round++) {
    const text = makeText(random);
    for (const level of [-5, 1, 3, 9, 19]) {
      const again = decompressFrames(compress(text, level), LIMIT);
      strictEqual(text.length, again.length, `round ${round} level ${level}`);
      deepStrictEqual(again, text, `round ${round} level ${level}`);
    }
  }
  const noise = Uint8Array.from({ length: 300_000 }, () => random() * 256);
  deepStrictEqual(decompressFrames(compress(noise, 3), LIMIT), noise);
  deepStrictEqual(decompressFrames(compress(new Uint8Array(), 3), LIMIT), new Uint8Array());
  const zeros = new Uint8Array(1 << 20);
  deepStrictEqual(decompressFrames(compress(zeros, 3), LIMIT), zeros);
});

Deno.test({
  name: "decompressFrames() reads frames of the public client's dictionary (needs ../shared)",
  ignore: dictionaryBytes === undefined,
  async fn() {
    const bytes = dictionaryBytes ?? new Uint8Array();
    const dictionary = readDictionary(bytes);
    strictEqual(dictionary.id, 1);
    await init();
    const context = createCCtx();
    const random = randomFrom(2);
    const samples = Array.from({ length: 40 }, () => makeText(random));
    samples.push(new TextEncoder().encode("machine:\n  network:\n    hostname: a\n".repeat(100)));
    for (const [round, text] of samples.entries()) {
      const frame = compressUsingDict(context, text, bytes, [1, 3, 9, 19][round % 4] ?? 3);
      deepStrictEqual(decompressFrames(frame, LIMIT, dictionary), text, `round ${round}`);
      throws(() => decompressFrames(frame, LIMIT), /needs dictionary 1/);
    }
    freeCCtx(context);
  },
});

Deno.test("decompressFrames() refuses more than the bound, said or not", () => {
  const text = new Uint8Array(100_000);
  throws(() => decompressFrames(compress(text, 3), 99_999), /more than 99999 bytes/);
  // A block that repeats one byte, in a frame that does not say how long it is.
  const head = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
  const block = (128 * 1024) << 3 | 1 << 1;
  const bomb = [...head];
  for (let index = 0; index < 64; index++) {
    const last = block | (index === 63 ? 1 : 0);
    bomb.push(last & 255, (last >> 8) & 255, last >> 16, 0x41);
  }
  strictEqual(decompressFrames(Uint8Array.from(bomb), 8 << 20).length, 8 << 20);
  throws(() => decompressFrames(Uint8Array.from(bomb), (8 << 20) - 1), /more than/);
});

Deno.test("decompressFrames() survives damaged frames", () => {
  const random = randomFrom(3);
  let refused = 0;
  for (let round = 0; round < 2000; round++) {
    const frame = compress(makeText(random).subarray(0, 3000), 3);
    const hits = 1 + Math.floor(random() * 4);
    for (let hit = 0; hit < hits; hit++) {
      frame[Math.floor(random() * frame.length)] = Math.floor(random() * 256);
    }
    try {
      ok(decompressFrames(frame.subarray(0, Math.ceil(random() * 2 * frame.length)), LIMIT));
    } catch (error) {
      strictEqual(codeOf(error), "invalidArgument", `round ${round}: ${error}`);
      refused++;
    }
  }
  ok(refused > 500, `only ${refused} were refused`);
});
