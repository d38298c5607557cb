// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The stored form of a record: wire form, compressed, encrypted.
 *
 * The envelope is the one that other programs of the field read: compressed records begin with 0x00
 * and the codec's letter, encrypted ones with 0x01 and a nonce of 12 bytes, and an encrypted record
 * holds a compressed or plain one. A plain record is a protobuf message and begins with neither.
 *
 * @module
 */

import { createCipheriv, createDecipheriv, randomFillSync } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { CodedError } from "../../base/errors.ts";

const COMPRESSED = 0x00;
const ENCRYPTED = 0x01;
const ZSTD = 0x7a; // The letter "z".

const NONCE_SIZE = 12;
const TAG_SIZE = 16;
const HEAD_SIZE = 1 + NONCE_SIZE;

/**
 * Records below this size in bytes are stored as they are: compressing one takes longer than all the
 * rest of its way to the disk, and would save a few hundred bytes.
 */
const COMPRESS_FROM = 2048;

/** The largest record in bytes, against a damaged record that claims to be huge. */
const RECORD_LIMIT = 64 << 20;

/** A known text that a store keeps sealed: a wrong key is told even by an empty state. */
export const KEY_CHECK = new TextEncoder().encode("state key check");

/** The keys of a store. */
export interface StateKeys {
  /** 32 bytes; what is written is encrypted with it. */
  readonly current: Uint8Array;
  /** 32 bytes each; records that `current` does not open are tried with them. */
  readonly previous?: readonly Uint8Array[] | undefined;
  /** Whether records without encryption are read too, to encrypt a state that is not. */
  readonly acceptPlain?: boolean | undefined;
}

/** Turns wire forms into stored records and back. */
export interface Codec {
  /** Compresses and encrypts. */
  seal(wire: Uint8Array): Uint8Array;
  /**
   * Decrypts and decompresses; throws `failedPrecondition` for a plain record where a key is
   * configured, or the reverse, and `dataLoss` for one that no key fits or that is damaged.
   */
  open(record: Uint8Array): Uint8Array;
}

function encrypt(key: Uint8Array, plain: Uint8Array): Uint8Array {
  const record = new Uint8Array(HEAD_SIZE + plain.length + TAG_SIZE);
  record[0] = ENCRYPTED;
  const nonce = randomFillSync(record.subarray(1, HEAD_SIZE));
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  record.set(cipher.update(plain), HEAD_SIZE);
  cipher.final();
  record.set(cipher.getAuthTag(), HEAD_SIZE + plain.length);
  return record;
}

/** Decrypts, or returns `undefined` when the key does not fit or the record is damaged. */
function decrypt(key: Uint8Array, record: Uint8Array): Uint8Array | undefined {
  const tagAt = record.length - TAG_SIZE;
  const decipher = createDecipheriv("aes-256-gcm", key, record.subarray(1, HEAD_SIZE));
  decipher.setAuthTag(record.subarray(tagAt));
  const plain = decipher.update(record.subarray(HEAD_SIZE, tagAt));
  try {
    decipher.final();
  } catch {
    return undefined;
  }
  return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
}

function decompress(record: Uint8Array): Uint8Array {
  if (record[1] !== ZSTD) {
    throw new CodedError("dataLoss", `Cannot read record: compression ${record[1]} is unknown`);
  }
  try {
    const plain = zstdDecompressSync(record.subarray(2), { maxOutputLength: RECORD_LIMIT });
    return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
  } catch (cause) {
    throw new CodedError("dataLoss", "Cannot read record: its compressed data are damaged", {
      cause,
    });
  }
}

function decryptWith(keys: StateKeys | undefined, record: Uint8Array): Uint8Array {
  if (record[0] !== ENCRYPTED) {
    if (keys === undefined || keys.acceptPlain) return record;
    throw new CodedError(
      "failedPrecondition",
      "Cannot read record: it was written without a key, but the configuration names one; encrypt " +
        'the state with "batuta key rotate --from-unencrypted" while the server is stopped',
    );
  }
  if (keys === undefined) {
    throw new CodedError(
      "failedPrecondition",
      "Cannot read record: it is encrypted; name its key in state.key",
    );
  }
  if (record.length < HEAD_SIZE + TAG_SIZE) {
    throw new CodedError("dataLoss", `Cannot read record: only ${record.length} bytes are left`);
  }
  for (const key of [keys.current, ...keys.previous ?? []]) {
    const plain = decrypt(key, record);
    if (plain !== undefined) return plain;
  }
  const tried = keys.previous?.length
    ? "neither state.key nor state.key.previous fits"
    : "state.key does not fit";
  throw new CodedError("dataLoss", `Cannot read record: ${tried}, or the record is damaged`);
}

/** Creates a codec; without keys nothing is encrypted, and encrypted records are refused. */
export function createCodec(keys: StateKeys | undefined): Codec {
  return {
    seal(wire) {
      let record = wire;
      if (wire.length >= COMPRESS_FROM) {
        const packed = zstdCompressSync(wire);
        if (packed.length + 2 < wire.length) {
          record = new Uint8Array(packed.length + 2);
          record[0] = COMPRESSED;
          record[1] = ZSTD;
          record.set(packed, 2);
        }
      }
      return keys === undefined ? record : encrypt(keys.current, record);
    },
    open(record) {
      const plain = decryptWith(keys, record);
      return plain[0] === COMPRESSED ? decompress(plain) : plain;
    },
  };
}
