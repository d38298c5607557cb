// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The Noise IKpsk2 handshake of WireGuard, as functions without state of their own.
 *
 * A pre-shared key is always the zero key: siderolink uses none.
 *
 * @module
 */

import type { KeyObject } from "node:crypto";
import type { RandomBytes } from "../addresses.ts";
import {
  dh,
  hash,
  kdf1,
  kdf2,
  kdf3,
  KEY_SIZE,
  open,
  privateKeyFrom,
  publicKeyOfPrivate,
  sealInto,
} from "./primitives.ts";
import {
  INITIATION,
  INITIATION_SIZE,
  readUint32,
  RESPONSE,
  RESPONSE_SIZE,
  writeUint32,
} from "./messages.ts";

/** Our own static keys, and what only depends on them. */
export interface LocalIdentity {
  readonly privateKey: KeyObject;
  readonly publicKey: Uint8Array;
  /** The handshake hash of an initiation to us before its first field. */
  readonly initialHash: Uint8Array;
}

/** A peer's static key, and what only depends on it and ours. */
export interface RemoteIdentity {
  readonly publicKey: Uint8Array;
  readonly staticStatic: Uint8Array;
  readonly initialHash: Uint8Array;
}

/** What an initiator keeps until the response comes. */
export interface InitiatorState {
  readonly localIndex: number;
  readonly ephemeral: KeyObject;
  readonly chainingKey: Uint8Array;
  readonly hash: Uint8Array;
}

/** What a responder has learned from an initiation. */
export interface ReceivedInitiation {
  readonly remoteIndex: number;
  readonly ephemeral: Uint8Array;
  readonly timestamp: Uint8Array;
  readonly chainingKey: Uint8Array;
  readonly hash: Uint8Array;
}

/** The keys of a new session. */
export interface SessionKeys {
  readonly remoteIndex: number;
  readonly sendKey: Uint8Array;
  readonly receiveKey: Uint8Array;
}

const text = new TextEncoder();
const CONSTRUCTION_HASH = hash(text.encode("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s"));
const PROTOCOL_HASH = hash(
  CONSTRUCTION_HASH,
  text.encode("WireGuard v1 zx2c4 Jason@zx2c4.com"),
);
const EMPTY = new Uint8Array(0);
const ZERO_PSK = new Uint8Array(KEY_SIZE);

/** Prepares our own keys. */
export function localIdentity(privateKey: Uint8Array): LocalIdentity {
  const key = privateKeyFrom(privateKey);
  const publicKey = publicKeyOfPrivate(key);
  return { privateKey: key, publicKey, initialHash: hash(PROTOCOL_HASH, publicKey) };
}

/** Prepares a peer's key; `undefined` when it is a weak point that no honest peer has. */
export function remoteIdentity(
  local: LocalIdentity,
  publicKey: Uint8Array,
): RemoteIdentity | undefined {
  const staticStatic = dh(local.privateKey, publicKey);
  if (staticStatic === undefined) return undefined;
  return { publicKey, staticStatic, initialHash: hash(PROTOCOL_HASH, publicKey) };
}

/** Makes an initiation, complete but for its MACs. */
export function createInitiation(
  local: LocalIdentity,
  remote: RemoteIdentity,
  localIndex: number,
  timestamp: Uint8Array,
  random: RandomBytes,
): { message: Uint8Array; state: InitiatorState } | undefined {
  const ephemeral = privateKeyFrom(random(KEY_SIZE));
  const ephemeralPublic = publicKeyOfPrivate(ephemeral);
  const shared = dh(ephemeral, remote.publicKey);
  if (shared === undefined) return undefined;
  const message = new Uint8Array(INITIATION_SIZE);
  message[0] = INITIATION;
  writeUint32(message, 4, localIndex);
  message.set(ephemeralPublic, 8);

  let state = hash(remote.initialHash, ephemeralPublic);
  const [first, staticKey] = kdf2(kdf1(CONSTRUCTION_HASH, ephemeralPublic), shared);
  sealInto(message, 40, staticKey, 0, local.publicKey, state);
  state = hash(state, message.subarray(40, 88));
  const [chainingKey, timestampKey] = kdf2(first, remote.staticStatic);
  sealInto(message, 88, timestampKey, 0, timestamp, state);
  state = hash(state, message.subarray(88, 116));
  return { message, state: { localIndex, ephemeral, chainingKey, hash: state } };
}

/**
 * Reads an initiation to us, whose size was checked.
 *
 * @param find Returns the peer that has a static key.
 */
export function consumeInitiation<P extends { readonly identity: RemoteIdentity }>(
  local: LocalIdentity,
  message: Uint8Array,
  find: (publicKey: Uint8Array) => P | undefined,
): { peer: P; received: ReceivedInitiation } | undefined {
  const ephemeral = message.slice(8, 40);
  let state = hash(local.initialHash, ephemeral);
  const shared = dh(local.privateKey, ephemeral);
  if (shared === undefined) return undefined;
  const [first, staticKey] = kdf2(kdf1(CONSTRUCTION_HASH, ephemeral), shared);
  const publicKey = open(staticKey, 0, message.subarray(40, 88), state);
  const peer = publicKey === undefined ? undefined : find(publicKey);
  if (peer === undefined) return undefined;
  state = hash(state, message.subarray(40, 88));
  const [chainingKey, timestampKey] = kdf2(first, peer.identity.staticStatic);
  const timestamp = open(timestampKey, 0, message.subarray(88, 116), state);
  if (timestamp === undefined) return undefined;
  state = hash(state, message.subarray(88, 116));
  const remoteIndex = readUint32(message, 4);
  return { peer, received: { remoteIndex, ephemeral, timestamp, chainingKey, hash: state } };
}

/** Answers an initiation: the response, complete but for its MACs, and the responder's keys. */
export function createResponse(
  remote: RemoteIdentity,
  received: ReceivedInitiation,
  localIndex: number,
  random: RandomBytes,
): { message: Uint8Array; keys: SessionKeys } | undefined {
  const ephemeral = privateKeyFrom(random(KEY_SIZE));
  const ephemeralPublic = publicKeyOfPrivate(ephemeral);
  const withEphemeral = dh(ephemeral, received.ephemeral);
  const withStatic = dh(ephemeral, remote.publicKey);
  if (withEphemeral === undefined || withStatic === undefined) return undefined;
  const message = new Uint8Array(RESPONSE_SIZE);
  message[0] = RESPONSE;
  writeUint32(message, 4, localIndex);
  writeUint32(message, 8, received.remoteIndex);
  message.set(ephemeralPublic, 12);

  let chainingKey = kdf1(received.chainingKey, ephemeralPublic);
  chainingKey = kdf1(kdf1(chainingKey, withEphemeral), withStatic);
  const [last, mixed, key] = kdf3(chainingKey, ZERO_PSK);
  const state = hash(hash(received.hash, ephemeralPublic), mixed);
  sealInto(message, 44, key, 0, EMPTY, state);
  const [receiveKey, sendKey] = kdf2(last, EMPTY);
  return { message, keys: { remoteIndex: received.remoteIndex, sendKey, receiveKey } };
}

/** Reads the response to our initiation, whose size was checked; returns the initiator's keys. */
export function consumeResponse(
  local: LocalIdentity,
  initiator: InitiatorState,
  message: Uint8Array,
): SessionKeys | undefined {
  const ephemeral = message.slice(12, 44);
  const withEphemeral = dh(initiator.ephemeral, ephemeral);
  const withStatic = dh(local.privateKey, ephemeral);
  if (withEphemeral === undefined || withStatic === undefined) return undefined;
  let chainingKey = kdf1(initiator.chainingKey, ephemeral);
  chainingKey = kdf1(kdf1(chainingKey, withEphemeral), withStatic);
  const [last, mixed, key] = kdf3(chainingKey, ZERO_PSK);
  const state = hash(hash(initiator.hash, ephemeral), mixed);
  if (open(key, 0, message.subarray(44, 60), state) === undefined) return undefined;
  const [sendKey, receiveKey] = kdf2(last, EMPTY);
  return { remoteIndex: readUint32(message, 4), sendKey, receiveKey };
}
