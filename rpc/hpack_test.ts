// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { ConnectionFault } from "./frames.ts";
import { HpackDecoder, Known } from "./hpack_decoder.ts";
import { HpackEncoder } from "./hpack_encoder.ts";

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.replaceAll(" ", "").match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function decode(decoder: HpackDecoder, bytes: Uint8Array) {
  return decoder.decode(bytes, 0, bytes.length);
}

function encode(encoder: HpackEncoder, fields: readonly string[]): Uint8Array {
  const bytes = new Uint8Array(encoder.bound(undefined, fields));
  return bytes.subarray(0, encoder.encode(undefined, fields, bytes, 0));
}

/** A generator of numbers that repeats itself for the same seed. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

Deno.test("HpackDecoder reads the requests of RFC 7541 C.3 and C.4 with one table", () => {
  const plain = [
    "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
    "8286 84be 5808 6e6f 2d63 6163 6865",
    "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
  ];
  const coded = [
    "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
    "8286 84be 5886 a8eb 1064 9cbf",
    "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
  ];
  for (const blocks of [plain, coded]) {
    const decoder = new HpackDecoder(4096, 16384);
    const first = decode(decoder, fromHex(blocks[0] ?? ""));
    assert.deepEqual(first.known.slice(0, 4), ["GET", "http", "/", "www.example.com"]);
    const second = decode(decoder, fromHex(blocks[1] ?? ""));
    assert.deepEqual(second.fields, ["cache-control", "no-cache"]);
    const third = decode(decoder, fromHex(blocks[2] ?? ""));
    assert.equal(third.known[Known.Path], "/index.html");
    assert.equal(third.known[Known.Authority], "www.example.com");
    assert.deepEqual(third.fields, ["custom-key", "custom-value"]);
    assert.ok(!third.malformed && !third.oversize);
  }
});

Deno.test("HpackDecoder evicts as RFC 7541 C.5 does", () => {
  const decoder = new HpackDecoder(256, 16384);
  decode(
    decoder,
    fromHex(
      "4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a " +
        "3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
    ),
  );
  const second = decode(decoder, fromHex("4803 3330 37c1 c0bf"));
  assert.equal(second.known[Known.Status], "307");
  assert.deepEqual(second.fields, [
    "cache-control",
    "private",
    "date",
    "Mon, 21 Oct 2013 20:13:21 GMT",
    "location",
    "https://www.example.com",
  ]);
});

Deno.test("HpackDecoder throws for what cannot be decoded", () => {
  for (
    const hex of [
      "80", // index 0
      "be", // an entry that is not there
      "ff8080808000", // an integer without end
      "3fe21f", // a table larger than allowed
      "8220", // a size update after a field
      "4003", // a name without its bytes
      "40", // nothing after the pattern
      "0081ff81ff", // bad Huffman padding
    ]
  ) {
    const decoder = new HpackDecoder(4096, 16384);
    assert.throws(() => decode(decoder, fromHex(hex)), { name: "ConnectionFault" }, hex);
  }
});

Deno.test("HpackDecoder marks blocks that HTTP/2 does not allow", () => {
  const bad: readonly string[][] = [
    [":method", "GET", ":method", "GET"],
    ["a", "b", ":path", "/"],
    [":unknown", "x"],
    ["Upper", "x"],
    ["bad name", "x"],
    ["", "x"],
    ["name", "line\nbreak"],
    ["name", " space"],
    ["connection", "close"],
    ["transfer-encoding", "chunked"],
    ["te", "gzip"],
    ["content-length", "1", "content-length", "2"],
  ];
  for (const fields of bad) {
    const block = decode(new HpackDecoder(4096, 16384), encode(new HpackEncoder(0), fields));
    assert.ok(block.malformed, JSON.stringify(fields));
  }
  for (const fields of [["te", "trailers"], ["x-bin", "AQ"], ["empty", ""]]) {
    const block = decode(new HpackDecoder(4096, 16384), encode(new HpackEncoder(0), fields));
    assert.ok(!block.malformed, JSON.stringify(fields));
  }
});

Deno.test("HpackDecoder drops what goes beyond the list's limit and keeps its table right", () => {
  const encoder = new HpackEncoder(4096);
  const decoder = new HpackDecoder(4096, 1000);
  const long = ["x-long", "v".repeat(600)];
  // The third field takes its index from the second one's entry.
  const first = encode(encoder, [...long, ...long, ...long]);
  const block = decode(decoder, first);
  assert.ok(block.oversize);
  assert.deepEqual(block.fields, long);
  assert.deepEqual(decode(decoder, encode(encoder, long)).fields, long);
});

Deno.test("HpackDecoder decodes the rest of a block that is too large, and refuses what is none", () => {
  // An entry of 600 bytes, twice; from then on fields are dropped.
  const entry = [0x40, 1, 0x78, 0x7f, 0xd9, 0x03, ...new Uint8Array(600).fill(0x61)];
  const tooLarge = [...entry, 0xbe];
  const small = [0x40, 1, 0x79, 1, 0x62];
  const decoder = new HpackDecoder(4096, 1000);
  assert.ok(decode(decoder, Uint8Array.of(...tooLarge, 0xbe, 0x82, ...small, 0xbe, 0xbf)).oversize);
  // What was dropped is in the table all the same.
  assert.deepEqual(decode(decoder, Uint8Array.of(0xbe)).fields, ["y", "b"]);
  for (const unknown of [[0x80], [0xbf], [0xff, 0x00], [0xff, 0x80, 0x01]]) {
    const bytes = Uint8Array.of(...tooLarge, 0xbe, ...unknown);
    assert.throws(() => decode(new HpackDecoder(4096, 1000), bytes), ConnectionFault);
  }
});

Deno.test("HpackEncoder and HpackDecoder agree over seeded lists and table sizes", () => {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  const next = random(seed);
  const encoder = new HpackEncoder(4096);
  const decoder = new HpackDecoder(4096, 1 << 20);
  const names = ["a", "x-name", "user-agent", "authorization", "grpc-status", "x-token", "etag"];
  const templates = [0, 1, 2].map((at) => ({ fields: [":status", "200", "x-template", `${at}`] }));
  for (let round = 0; round < 2000; round++) {
    if (next() < 0.02) encoder.setPeerLimit(Math.floor(next() * 6000));
    const fields: string[] = [];
    for (let count = Math.floor(next() * 6); count > 0; count--) {
      const value = next() < 0.5 ? `${Math.floor(next() * 9)}` : "v".repeat(next() * 300);
      fields.push(names[Math.floor(next() * names.length)] ?? "a", value);
    }
    const template = next() < 0.5 ? templates[Math.floor(next() * 3)] : undefined;
    const bytes = new Uint8Array(encoder.bound(template, fields));
    const end = encoder.encode(template, fields, bytes, 0);
    const block = decoder.decode(bytes, 0, end);
    const expected = [...template?.fields.slice(2) ?? [], ...fields];
    assert.deepEqual(block.fields, expected, `seed ${seed}, round ${round}`);
  }
});

Deno.test("HpackEncoder never lets a secret into a table", () => {
  const encoder = new HpackEncoder(4096);
  const secrets = [
    ["authorization", "Bearer abc"],
    ["x-sidero-signature", "s"],
    ["cookie", "c"],
    ["x-token", "t"],
  ];
  for (const fields of secrets) {
    for (let round = 0; round < 3; round++) {
      const bytes = encode(encoder, fields);
      assert.equal((bytes[0] ?? 0) & 0xf0, 0x10, fields.join(": "));
    }
  }
});

Deno.test("HpackEncoder shrinks what repeats to an index a field", () => {
  const encoder = new HpackEncoder(4096);
  const template = { fields: [":status", "200", "content-type", "application/grpc"] };
  const bytes = new Uint8Array(encoder.bound(template, undefined));
  const sizes = [1, 2, 3].map(() => encoder.encode(template, undefined, bytes, 0));
  assert.deepEqual(sizes.slice(1), [2, 2]);
});
