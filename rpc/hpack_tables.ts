// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The static table and the Huffman code of HPACK (RFC 7541, appendices A and B).
 *
 * @module
 */

/** Names and values of the static table in turn; index 1 is the first pair. */
export const STATIC_TABLE: readonly (readonly [name: string, value: string])[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language", ""],
  ["accept-ranges", ""],
  ["accept", ""],
  ["access-control-allow-origin", ""],
  ["age", ""],
  ["allow", ""],
  ["authorization", ""],
  ["cache-control", ""],
  ["content-disposition", ""],
  ["content-encoding", ""],
  ["content-language", ""],
  ["content-length", ""],
  ["content-location", ""],
  ["content-range", ""],
  ["content-type", ""],
  ["cookie", ""],
  ["date", ""],
  ["etag", ""],
  ["expect", ""],
  ["expires", ""],
  ["from", ""],
  ["host", ""],
  ["if-match", ""],
  ["if-modified-since", ""],
  ["if-none-match", ""],
  ["if-range", ""],
  ["if-unmodified-since", ""],
  ["last-modified", ""],
  ["link", ""],
  ["location", ""],
  ["max-forwards", ""],
  ["proxy-authenticate", ""],
  ["proxy-authorization", ""],
  ["range", ""],
  ["referer", ""],
  ["refresh", ""],
  ["retry-after", ""],
  ["server", ""],
  ["set-cookie", ""],
  ["strict-transport-security", ""],
  ["transfer-encoding", ""],
  ["user-agent", ""],
  ["vary", ""],
  ["via", ""],
  ["www-authenticate", ""],
];

// The code is canonical: within one length, codes count up with the symbol. So the lengths, as
// "length x repetitions", are the whole of appendix B; the last one is that of EOS.
const CODE_LENGTHS = "13 23 28x7 24 30 28x2 30 28x8 30 28x9 6 10x2 12 13 6 8 11 10x2 8 11 8 6x3 " +
  "5x3 6x7 7 8 15 6 12 10 13 6 7x21 7 8 7 8 13 19 13 14 6 15 5 6 5 6 5 6x3 5 7x2 6x3 5 6 7 6 5x2 " +
  "6 7x5 15 11 14 13 28 20 22 20x2 22x3 23 22 23x5 24 23 24x2 22 23 24 23x4 21 22 23 22 23x2 24 22 " +
  "21 20 22x2 23x2 21 23 22x2 24 21 22 23x2 21x2 22 21 23 22 23x2 20 22x3 23 22x2 23 26x2 20 19 22 " +
  "23 22 25 26x3 27x2 26 24 25 19 21 26 27x2 26 27 24 21x2 26x2 28 27x3 20 24 20 21 22 21x2 23 22x2 " +
  "25x2 24x2 26 23 26 27 26x2 27x5 28 27x5 26 30";

/** The symbol that pads the last byte of a coded string. */
export const EOS = 256;

/** Lengths in bits of the codes of symbols 0…256. */
export const HUFFMAN_LENGTHS: Uint8Array = Uint8Array.from(
  CODE_LENGTHS.split(" ").flatMap((run) => {
    const [length, count = "1"] = run.split("x");
    return new Array<number>(Number(count)).fill(Number(length));
  }),
);

/** Codes of symbols 0…256, right-aligned. */
export const HUFFMAN_CODES: Uint32Array = canonicalCodes(HUFFMAN_LENGTHS);

function canonicalCodes(lengths: Uint8Array): Uint32Array {
  const codes = new Uint32Array(lengths.length);
  let code = 0;
  for (let length = 1; length <= 30; length++) {
    for (let symbol = 0; symbol < lengths.length; symbol++) {
      if (lengths[symbol] === length) codes[symbol] = code++;
    }
    code *= 2;
  }
  return codes;
}
