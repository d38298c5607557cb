// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One peer: its sessions, its handshake in progress, its waiting packets and its timers.
 *
 * All deadlines of a peer share one timer of the device's queue.
 *
 * @module
 */

import { NEVER, type Timer, type TimerQueue } from "../timers.ts";
import { MacWriter, type Source } from "./cookies.ts";
import type { InitiatorState, RemoteIdentity } from "./handshake.ts";
import {
  KEEPALIVE_MS,
  REJECT_AFTER_MS,
  REKEY_AFTER_MESSAGES,
  REKEY_AFTER_MS,
  REKEY_ATTEMPT_MS,
  REKEY_JITTER_MS,
  REKEY_TIMEOUT_MS,
  ZERO_KEYS_AFTER_MS,
} from "./messages.ts";
import type { Session } from "./session.ts";

/** What a peer needs from its device. */
export interface PeerHost {
  readonly timers: TimerQueue;
  /** A number in [0, 1), for jitter. */
  random(): number;
  nowMs(): number;
  /** Sends an initiation if the peer's endpoint is known. */
  sendInitiation(peer: Peer): void;
  /** Sends an empty transport message, or starts a handshake when there is no session. */
  sendKeepalive(peer: Peer): void;
  /** Forgets the index of a session or of a handshake. */
  releaseIndex(index: number): void;
}

/** Packets that wait for a handshake, per peer; the oldest go first. */
export const QUEUE_LIMIT = 32;

const MAX_ATTEMPTS = REKEY_ATTEMPT_MS / REKEY_TIMEOUT_MS;
const NEW_HANDSHAKE_MS = KEEPALIVE_MS + REKEY_TIMEOUT_MS;
const LATE_REKEY_MS = REJECT_AFTER_MS - KEEPALIVE_MS - REKEY_TIMEOUT_MS;

/** A peer of the device. */
export class Peer {
  readonly macs: MacWriter;
  endpoint: Source | undefined;
  keepaliveMs = 0;
  current: Session | undefined;
  previous: Session | undefined;
  /** A session that we answered to, until the initiator has used it. */
  next: Session | undefined;
  handshake: InitiatorState | undefined;
  /** The latest timestamp of an initiation by this peer; older ones are replays. */
  lastTimestamp = new Uint8Array(12);
  lastInitiationReceivedMs = -Infinity;
  lastInitiationSentMs = -Infinity;
  lastHandshakeMs = 0;
  receivedBytes = 0;
  sentBytes = 0;
  /** Plain inner packets that wait for a session. */
  waiting: Uint8Array[] = [];
  isRemoved = false;

  #attempts = 0;
  #retryAtMs = NEVER;
  #newHandshakeAtMs = NEVER;
  #passiveKeepaliveAtMs = NEVER;
  #isKeepaliveDueAgain = false;
  #persistentAtMs = NEVER;
  #zeroKeysAtMs = NEVER;
  /** Added to each wait, so that peers do not act in step; another one for each handshake. */
  #jitterMs: number;
  readonly #timer: Timer;
  readonly #host: PeerHost;

  constructor(
    host: PeerHost,
    readonly identity: RemoteIdentity,
    /** The inner address as a map key. */
    readonly addressKey: string,
  ) {
    this.#host = host;
    this.#jitterMs = host.random() * REKEY_JITTER_MS;
    this.macs = new MacWriter(identity.publicKey);
    this.#timer = host.timers.create((nowMs) => this.#fire(nowMs));
  }

  /** Sets the interval of persistent keepalives; 0 turns them off. */
  setKeepalive(intervalMs: number): void {
    if (intervalMs === this.keepaliveMs) return;
    this.keepaliveMs = intervalMs;
    // The first goes out at once, so that a tunnel comes up without waiting for traffic.
    this.#persistentAtMs = intervalMs > 0 ? this.#host.nowMs() : NEVER;
    this.#arm();
  }

  /** Starts a handshake, unless one was started less than the retry interval ago. */
  startHandshake(nowMs: number): void {
    if (this.endpoint === undefined || this.#retryAtMs !== NEVER) return;
    if (nowMs - this.lastInitiationSentMs < REKEY_TIMEOUT_MS) return;
    this.#attempts = 0;
    this.#sendInitiation(nowMs);
  }

  /**
   * Sends the initiation of a handshake that is not answered again before its time, for a device
   * that itself was too busy to hear the answer.
   */
  repeatHandshake(nowMs: number): void {
    if (this.#retryAtMs !== NEVER) this.#sendInitiation(nowMs);
  }

  /** Keeps a packet until there is a session. */
  enqueue(packet: Uint8Array): void {
    if (this.waiting.length >= QUEUE_LIMIT) this.waiting.shift();
    this.waiting.push(packet);
  }

  /** Makes the session of a handshake that we began the current one. */
  adoptAsInitiator(session: Session, nowMs: number): void {
    // Of two handshakes that crossed, the peer may be using the one that it began.
    const isCrossed = this.next !== undefined;
    this.#drop(this.previous);
    if (isCrossed) this.#drop(this.current);
    this.previous = isCrossed ? this.next : this.current;
    this.next = undefined;
    this.current = session;
    this.handshake = undefined;
    this.#completeHandshake(nowMs);
    this.#sessionDerived(nowMs);
  }

  /** Keeps the session of a handshake that the peer began until the peer uses it. */
  adoptAsResponder(session: Session, nowMs: number): void {
    this.#drop(this.next);
    this.#drop(this.previous);
    this.previous = undefined;
    this.next = session;
    // The peer has just begun; a handshake of our own would only cross it.
    this.lastInitiationSentMs = nowMs;
    this.#sessionDerived(nowMs);
  }

  /** Called when a message came in under {@linkcode next}, which proves that the peer has it. */
  promoteNext(nowMs: number): void {
    this.#drop(this.previous);
    this.previous = this.current;
    this.current = this.next;
    this.next = undefined;
    this.#completeHandshake(nowMs);
  }

  /** Any genuine message was sent. */
  authenticatedSent(nowMs: number): void {
    this.#passiveKeepaliveAtMs = NEVER;
    this.#isKeepaliveDueAgain = false;
    this.#refreshPersistent(nowMs);
  }

  /** Any genuine message came in. */
  authenticatedReceived(nowMs: number): void {
    this.#newHandshakeAtMs = NEVER;
    this.#refreshPersistent(nowMs);
  }

  /** A message with content was sent: an answer is due, or the peer is gone. */
  dataSent(nowMs: number): void {
    if (this.#newHandshakeAtMs === NEVER) {
      this.#newHandshakeAtMs = nowMs + NEW_HANDSHAKE_MS + this.#jitterMs;
      this.#arm();
    }
  }

  /** A message was sent, keepalives included: keys that are old by now are replaced. */
  keepFreshSending(nowMs: number): void {
    const session = this.current;
    if (
      session !== undefined && (session.sendCounter > REKEY_AFTER_MESSAGES ||
        (session.isInitiator && nowMs - session.createdMs >= REKEY_AFTER_MS))
    ) this.startHandshake(nowMs);
  }

  /** A message with content came in: the peer waits for an answer. */
  dataReceived(nowMs: number): void {
    if (this.#passiveKeepaliveAtMs === NEVER) {
      this.#passiveKeepaliveAtMs = nowMs + KEEPALIVE_MS;
      this.#arm();
    } else {
      this.#isKeepaliveDueAgain = true;
    }
  }

  /** Starts the rekey that a side needs which receives but never sends. */
  keepFreshReceiving(nowMs: number): void {
    const session = this.current;
    if (session === undefined || !session.isInitiator || session.hasLateRekey) return;
    if (nowMs - session.createdMs < LATE_REKEY_MS) return;
    session.hasLateRekey = true;
    this.startHandshake(nowMs);
  }

  /** Forgets everything; the peer is never used again. */
  remove(): void {
    this.isRemoved = true;
    this.#timer.clear();
    this.#forgetSessions();
    this.waiting.length = 0;
  }

  #completeHandshake(nowMs: number): void {
    this.#retryAtMs = NEVER;
    this.#attempts = 0;
    this.lastHandshakeMs = nowMs;
    this.lastInitiationSentMs = -Infinity;
  }

  #sessionDerived(nowMs: number): void {
    this.#zeroKeysAtMs = nowMs + ZERO_KEYS_AFTER_MS;
    this.#refreshPersistent(nowMs);
    this.#arm();
  }

  #sendInitiation(nowMs: number): void {
    this.lastInitiationSentMs = nowMs;
    this.#jitterMs = this.#host.random() * REKEY_JITTER_MS;
    this.#retryAtMs = nowMs + REKEY_TIMEOUT_MS + this.#jitterMs;
    this.#host.sendInitiation(this);
    this.#refreshPersistent(nowMs);
    this.#arm();
  }

  #refreshPersistent(nowMs: number): void {
    if (this.keepaliveMs > 0) {
      this.#persistentAtMs = nowMs + this.keepaliveMs;
      this.#arm();
    }
  }

  #fire(nowMs: number): void {
    if (nowMs >= this.#retryAtMs) this.#retry(nowMs);
    if (nowMs >= this.#newHandshakeAtMs) {
      this.#newHandshakeAtMs = NEVER;
      this.startHandshake(nowMs);
    }
    if (nowMs >= this.#passiveKeepaliveAtMs) {
      const isDueAgain = this.#isKeepaliveDueAgain;
      this.#passiveKeepaliveAtMs = NEVER;
      this.#host.sendKeepalive(this);
      if (isDueAgain) this.#passiveKeepaliveAtMs = nowMs + KEEPALIVE_MS;
    }
    if (nowMs >= this.#persistentAtMs) {
      this.#persistentAtMs = nowMs + this.keepaliveMs;
      this.#host.sendKeepalive(this);
    }
    if (nowMs >= this.#zeroKeysAtMs) {
      this.#zeroKeysAtMs = NEVER;
      this.#forgetSessions();
    }
    this.#arm();
  }

  #retry(nowMs: number): void {
    this.#retryAtMs = NEVER;
    if (this.#attempts < MAX_ATTEMPTS) {
      this.#attempts++;
      this.#sendInitiation(nowMs);
      return;
    }
    // Nobody answers: what waits is stale by now. The next packet begins anew.
    this.waiting.length = 0;
    if (this.#zeroKeysAtMs === NEVER) this.#zeroKeysAtMs = nowMs + ZERO_KEYS_AFTER_MS;
  }

  #forgetSessions(): void {
    for (const session of [this.previous, this.current, this.next]) this.#drop(session);
    this.previous = this.current = this.next = undefined;
    if (this.handshake !== undefined) this.#host.releaseIndex(this.handshake.localIndex);
    this.handshake = undefined;
  }

  #drop(session: Session | undefined): void {
    if (session === undefined) return;
    this.#host.releaseIndex(session.localIndex);
    session.erase();
  }

  #arm(): void {
    if (this.isRemoved) return;
    this.#timer.set(Math.min(
      this.#retryAtMs,
      this.#newHandshakeAtMs,
      this.#passiveKeepaliveAtMs,
      this.#persistentAtMs,
      this.#zeroKeysAtMs,
    ));
  }
}
