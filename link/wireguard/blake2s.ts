// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * BLAKE2s (RFC 7693): hashes of 32 bytes, keyed MACs, and HKDF over it.
 *
 * The runtime lacks the keyed form, and a handshake computes some sixty of them over messages so
 * short that a general implementation spends most of its time on making objects; half a microsecond
 * goes into each array alone. This one keeps its state in memory of its own; nothing here runs while
 * something else here does.
 *
 * @module
 */

const BLOCK_SIZE = 64;
const HASH_SIZE = 32;

const IV = Int32Array.of(
  ...[0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a],
  ...[0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19],
);

/** The order of the message's words in each of the ten rounds, one digit a word. */
const ORDERS = "0123456789abcdef" +
  "ea489fd61c02b753" +
  "b8c052fdae367194" +
  "7931dcbe265a40f8" +
  "905724afe1bc683d" +
  "2c6a0b834d75fe19" +
  "c51fed4a0763928b" +
  "db7ec13950f4862a" +
  "6fe9b308c2d714a5" +
  "a2847615fb9e3cd0";
/** The same as offsets in the block. */
const orders = new DataView(Uint8Array.from(ORDERS, (digit) => 4 * parseInt(digit, 16)).buffer);

const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;

const state = new Int32Array(8);
const block = new Uint8Array(BLOCK_SIZE);
const message = new DataView(block.buffer);
/** Bytes in the block, and bytes before it. */
let filled = 0;
let absorbed = 0;

/** BLAKE2s-256 of several pieces. */
export function blake2s(...pieces: Uint8Array[]): Uint8Array {
  begin(0, HASH_SIZE);
  for (const piece of pieces) update(piece);
  return finish(HASH_SIZE);
}

/** Keyed BLAKE2s of a message, of `size` bytes. */
export function keyedBlake2s(key: Uint8Array, message: Uint8Array, size: number): Uint8Array {
  absorbKeyed(key, message, size);
  return finish(size);
}

function absorbKeyed(key: Uint8Array, message: Uint8Array, size: number): void {
  begin(key.length, size);
  block.fill(0);
  block.set(key);
  filled = BLOCK_SIZE;
  update(message);
}

/** Whether `expected` is the keyed BLAKE2s of a message; the time does not depend on where it differs. */
export function isKeyedBlake2s(
  key: Uint8Array,
  message: Uint8Array,
  expected: Uint8Array,
): boolean {
  absorbKeyed(key, message, expected.length);
  end();
  let difference = 0;
  for (let i = 0; i < expected.length; i++) difference |= byteOfState(i) ^ (expected[i] as number);
  return difference === 0;
}

/** HKDF with HMAC-BLAKE2s (RFC 5869): `count` outputs of 32 bytes each, one after the other. */
export function hkdf(key: Uint8Array, input: Uint8Array, count: number): Uint8Array {
  const outputs = new Uint8Array(count * HASH_SIZE);
  useHmacKey(key);
  // Without a message the block of the key is the last one, and the last one is marked.
  if (input.length === 0) beginPadded(key, INNER_PAD);
  else resume(inner);
  update(input);
  endHmac(secret, 0);
  useHmacKey(secret);
  for (let at = 0; at < outputs.length; at += HASH_SIZE) {
    resume(inner);
    if (at > 0) update(outputs.subarray(at - HASH_SIZE, at));
    counter[0] = at / HASH_SIZE + 1;
    update(counter);
    endHmac(outputs, at);
  }
  for (const used of [inner, outer, digest, secret, block, state]) used.fill(0);
  return outputs;
}

// What HMAC keeps between its hashes: the states after the two padded keys, and two results.
const inner = new Int32Array(8);
const outer = new Int32Array(8);
const digest = new Uint8Array(HASH_SIZE);
const secret = new Uint8Array(HASH_SIZE);
const counter = new Uint8Array(1);

function useHmacKey(key: Uint8Array): void {
  keepStateAfter(key, INNER_PAD, inner);
  keepStateAfter(key, OUTER_PAD, outer);
}

function endHmac(result: Uint8Array, at: number): void {
  finishInto(digest, 0, HASH_SIZE);
  resume(outer);
  update(digest);
  finishInto(result, at, HASH_SIZE);
}

function beginPadded(key: Uint8Array, pad: number): void {
  begin(0, HASH_SIZE);
  for (let i = 0; i < BLOCK_SIZE; i++) block[i] = (key[i] ?? 0) ^ pad;
  filled = BLOCK_SIZE;
}

/** The state after a block of the key, behind which something follows. */
function keepStateAfter(key: Uint8Array, pad: number, kept: Int32Array): void {
  beginPadded(key, pad);
  absorbed = BLOCK_SIZE;
  compress(false);
  kept.set(state);
}

function resume(from: Int32Array): void {
  state.set(from);
  filled = 0;
  absorbed = BLOCK_SIZE;
}

function begin(keySize: number, size: number): void {
  state.set(IV);
  // The parameters: lengths of result and key, and one for both fan-out and depth.
  state[0] = (IV[0] as number) ^ 0x0101_0000 ^ (keySize << 8) ^ size;
  filled = absorbed = 0;
}

function update(data: Uint8Array): void {
  for (let at = 0; at < data.length;) {
    // The last block is marked, so a full one waits until something follows it.
    if (filled === BLOCK_SIZE) {
      absorbed += BLOCK_SIZE;
      compress(false);
      filled = 0;
    }
    const end = Math.min(data.length, at + BLOCK_SIZE - filled);
    while (at < end) block[filled++] = data[at++] as number;
  }
}

function finish(size: number): Uint8Array {
  const result = new Uint8Array(size);
  finishInto(result, 0, size);
  return result;
}

function finishInto(result: Uint8Array, at: number, size: number): void {
  end();
  for (let i = 0; i < size; i++) result[at + i] = byteOfState(i);
}

function end(): void {
  block.fill(0, filled);
  absorbed += filled;
  compress(true);
}

function byteOfState(index: number): number {
  return ((state[index >> 2] as number) >>> (8 * (index & 3))) & 0xff;
}

/** The rounds are written out: with calls in them they take two to four times as long. */
// deno-lint-ignore batuta/function-length -- sixteen words that are mixed in eight ways
function compress(isLast: boolean): void {
  let v0 = state[0] as number;
  let v1 = state[1] as number;
  let v2 = state[2] as number;
  let v3 = state[3] as number;
  let v4 = state[4] as number;
  let v5 = state[5] as number;
  let v6 = state[6] as number;
  let v7 = state[7] as number;
  let v8 = IV[0] as number;
  let v9 = IV[1] as number;
  let v10 = IV[2] as number;
  let v11 = IV[3] as number;
  let v12 = (IV[4] as number) ^ absorbed;
  let v13 = IV[5] as number;
  let v14 = isLast ? ~(IV[6] as number) : IV[6] as number;
  let v15 = IV[7] as number;
  for (let r = 0; r < ORDERS.length; r += 16) {
    v0 = (v0 + v4 + message.getInt32(orders.getUint8(r), true)) | 0;
    v12 ^= v0;
    v12 = (v12 >>> 16) | (v12 << 16);
    v8 = (v8 + v12) | 0;
    v4 ^= v8;
    v4 = (v4 >>> 12) | (v4 << 20);
    v0 = (v0 + v4 + message.getInt32(orders.getUint8(r + 1), true)) | 0;
    v12 ^= v0;
    v12 = (v12 >>> 8) | (v12 << 24);
    v8 = (v8 + v12) | 0;
    v4 ^= v8;
    v4 = (v4 >>> 7) | (v4 << 25);
    v1 = (v1 + v5 + message.getInt32(orders.getUint8(r + 2), true)) | 0;
    v13 ^= v1;
    v13 = (v13 >>> 16) | (v13 << 16);
    v9 = (v9 + v13) | 0;
    v5 ^= v9;
    v5 = (v5 >>> 12) | (v5 << 20);
    v1 = (v1 + v5 + message.getInt32(orders.getUint8(r + 3), true)) | 0;
    v13 ^= v1;
    v13 = (v13 >>> 8) | (v13 << 24);
    v9 = (v9 + v13) | 0;
    v5 ^= v9;
    v5 = (v5 >>> 7) | (v5 << 25);
    v2 = (v2 + v6 + message.getInt32(orders.getUint8(r + 4), true)) | 0;
    v14 ^= v2;
    v14 = (v14 >>> 16) | (v14 << 16);
    v10 = (v10 + v14) | 0;
    v6 ^= v10;
    v6 = (v6 >>> 12) | (v6 << 20);
    v2 = (v2 + v6 + message.getInt32(orders.getUint8(r + 5), true)) | 0;
    v14 ^= v2;
    v14 = (v14 >>> 8) | (v14 << 24);
    v10 = (v10 + v14) | 0;
    v6 ^= v10;
    v6 = (v6 >>> 7) | (v6 << 25);
    v3 = (v3 + v7 + message.getInt32(orders.getUint8(r + 6), true)) | 0;
    v15 ^= v3;
    v15 = (v15 >>> 16) | (v15 << 16);
    v11 = (v11 + v15) | 0;
    v7 ^= v11;
    v7 = (v7 >>> 12) | (v7 << 20);
    v3 = (v3 + v7 + message.getInt32(orders.getUint8(r + 7), true)) | 0;
    v15 ^= v3;
    v15 = (v15 >>> 8) | (v15 << 24);
    v11 = (v11 + v15) | 0;
    v7 ^= v11;
    v7 = (v7 >>> 7) | (v7 << 25);
    v0 = (v0 + v5 + message.getInt32(orders.getUint8(r + 8), true)) | 0;
    v15 ^= v0;
    v15 = (v15 >>> 16) | (v15 << 16);
    v10 = (v10 + v15) | 0;
    v5 ^= v10;
    v5 = (v5 >>> 12) | (v5 << 20);
    v0 = (v0 + v5 + message.getInt32(orders.getUint8(r + 9), true)) | 0;
    v15 ^= v0;
    v15 = (v15 >>> 8) | (v15 << 24);
    v10 = (v10 + v15) | 0;
    v5 ^= v10;
    v5 = (v5 >>> 7) | (v5 << 25);
    v1 = (v1 + v6 + message.getInt32(orders.getUint8(r + 10), true)) | 0;
    v12 ^= v1;
    v12 = (v12 >>> 16) | (v12 << 16);
    v11 = (v11 + v12) | 0;
    v6 ^= v11;
    v6 = (v6 >>> 12) | (v6 << 20);
    v1 = (v1 + v6 + message.getInt32(orders.getUint8(r + 11), true)) | 0;
    v12 ^= v1;
    v12 = (v12 >>> 8) | (v12 << 24);
    v11 = (v11 + v12) | 0;
    v6 ^= v11;
    v6 = (v6 >>> 7) | (v6 << 25);
    v2 = (v2 + v7 + message.getInt32(orders.getUint8(r + 12), true)) | 0;
    v13 ^= v2;
    v13 = (v13 >>> 16) | (v13 << 16);
    v8 = (v8 + v13) | 0;
    v7 ^= v8;
    v7 = (v7 >>> 12) | (v7 << 20);
    v2 = (v2 + v7 + message.getInt32(orders.getUint8(r + 13), true)) | 0;
    v13 ^= v2;
    v13 = (v13 >>> 8) | (v13 << 24);
    v8 = (v8 + v13) | 0;
    v7 ^= v8;
    v7 = (v7 >>> 7) | (v7 << 25);
    v3 = (v3 + v4 + message.getInt32(orders.getUint8(r + 14), true)) | 0;
    v14 ^= v3;
    v14 = (v14 >>> 16) | (v14 << 16);
    v9 = (v9 + v14) | 0;
    v4 ^= v9;
    v4 = (v4 >>> 12) | (v4 << 20);
    v3 = (v3 + v4 + message.getInt32(orders.getUint8(r + 15), true)) | 0;
    v14 ^= v3;
    v14 = (v14 >>> 8) | (v14 << 24);
    v9 = (v9 + v14) | 0;
    v4 ^= v9;
    v4 = (v4 >>> 7) | (v4 << 25);
  }
  state[0] = (state[0] as number) ^ v0 ^ v8;
  state[1] = (state[1] as number) ^ v1 ^ v9;
  state[2] = (state[2] as number) ^ v2 ^ v10;
  state[3] = (state[3] as number) ^ v3 ^ v11;
  state[4] = (state[4] as number) ^ v4 ^ v12;
  state[5] = (state[5] as number) ^ v5 ^ v13;
  state[6] = (state[6] as number) ^ v6 ^ v14;
  state[7] = (state[7] as number) ^ v7 ^ v15;
}
