// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Seals records of the machine store, when the site asks for it.
 *
 * A record begins with a byte that tells whether it is sealed, so that a store can hold both.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { CodedError } from "../base/errors.ts";
import type { Secret } from "../base/redact.ts";

const PLAIN = 0;
const SEALED = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const ALGORITHM = "aes-256-gcm";

/** Turns texts and bytes into records and back. */
export interface RecordCipher {
  seal(content: Uint8Array): Uint8Array;
  /** Throws `failedPrecondition` for a sealed record without the key that it was sealed with. */
  open(record: Uint8Array): Uint8Array;
}

/**
 * Creates a cipher; without a key it seals nothing, and without any it reads only what is not sealed.
 *
 * @param previous Keys that only open what was sealed with them before.
 */
export function createRecordCipher(
  current: Secret<Uint8Array> | undefined,
  previous: readonly Secret<Uint8Array>[] = [],
): RecordCipher {
  const derived = current === undefined ? undefined : derive(current);
  const openers = [...(derived === undefined ? [] : [derived]), ...previous.map(derive)];
  return {
    seal: (content) => {
      if (derived === undefined) return joined(Uint8Array.of(PLAIN), content);
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(ALGORITHM, derived, nonce);
      const body = Buffer.concat([cipher.update(content), cipher.final()]);
      return joined(Uint8Array.of(SEALED), nonce, body, cipher.getAuthTag());
    },
    open: (record) => {
      if (record[0] === PLAIN) return record.subarray(1);
      return openWithAny(record, openers);
    },
  };
}

/** A key of its own, so that a record of the one store is never mistaken for one of the other. */
function derive(key: Secret<Uint8Array>): Uint8Array {
  return Buffer.from(hkdfSync("sha256", key.reveal(), "", "batuta machine store", 32));
}

function openWithAny(record: Uint8Array, keys: readonly Uint8Array[]): Uint8Array {
  let cause: unknown;
  for (const key of keys) {
    try {
      return openSealed(record, key);
    } catch (error) {
      cause = error;
    }
  }
  throw unreadable(cause);
}

function openSealed(record: Uint8Array, key: Uint8Array): Uint8Array {
  const nonce = record.subarray(1, 1 + NONCE_BYTES);
  const body = record.subarray(1 + NONCE_BYTES, record.length - TAG_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key, nonce);
  decipher.setAuthTag(record.subarray(record.length - TAG_BYTES));
  return joined(decipher.update(body), decipher.final());
}

function unreadable(cause?: unknown): CodedError {
  return new CodedError(
    "failedPrecondition",
    "Cannot read a record of the machine store: it is sealed with none of the keys in state.key",
    cause === undefined ? {} : { cause },
  );
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}
