// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a TCP connection does when nothing comes: it sends again, probes, asks whether the peer is
 * still there, and gives up in the end.
 *
 * @module
 */

import { NEVER } from "../timers.ts";
import type { TcpOutput, TcpParts } from "./tcp_output.ts";
import { ACK, seqAdd } from "./tcp_segment.ts";

const SYN_RETRY_MS = 1000;
const SYN_ATTEMPTS = 6;
const RETRANSMIT_ATTEMPTS = 10;
const MAX_PERSIST_MS = 60_000;
/** A closed window of a peer that says nothing at all any more. */
const SILENT_PEER_MS = 120_000;
const KEEPALIVE_IDLE_MS = 60_000;
const KEEPALIVE_INTERVAL_MS = 15_000;
const KEEPALIVE_PROBES = 4;
/** How long a peer may hold back an acknowledgement, and a little more. */
const PEER_ACK_DELAY_MS = 42;

/** What is left to the connection itself. */
export type Verdict = "goOn" | "sendSyn" | "giveUp";

/** The patience of a connection. */
export class TcpRetries {
  readonly #parts: TcpParts;
  readonly #output: TcpOutput;
  /** Expiries of a timer since anything new was acknowledged. */
  #attempts = 0;
  #isProbeSent = false;
  #lastReceivedMs: number;
  #keepaliveProbes = 0;

  constructor(parts: TcpParts, output: TcpOutput) {
    this.#parts = parts;
    this.#output = output;
    this.#lastReceivedMs = parts.host.nowMs();
  }

  /** A SYN went out. */
  noteSyn(nowMs: number): void {
    this.#parts.deadlines.retransmit = nowMs + SYN_RETRY_MS * 2 ** this.#attempts;
  }

  /** The peer's SYN has come. */
  noteAnswered(): void {
    this.#attempts = 0;
  }

  /** The handshake is complete. */
  noteEstablished(nowMs: number): void {
    this.#attempts = 0;
    this.#parts.deadlines.retransmit = NEVER;
    this.#parts.deadlines.keepalive = nowMs + KEEPALIVE_IDLE_MS;
  }

  /** The peer is there. */
  noteReceived(nowMs: number): void {
    this.#lastReceivedMs = nowMs;
    this.#keepaliveProbes = 0;
  }

  /** Something new was acknowledged. */
  noteAcked(): void {
    this.#attempts = 0;
    this.#isProbeSent = false;
    this.#parts.deadlines.retransmit = NEVER;
  }

  /** The peer told a window that is open. */
  noteWindow(): void {
    if (this.#parts.deadlines.persist === NEVER) return;
    this.#parts.deadlines.persist = NEVER;
    this.#attempts = 0;
    this.#parts.sender.reopen();
  }

  /** Sets the deadlines of what was sent and what could not be sent. */
  update(nowMs: number): void {
    const { sender, deadlines } = this.#parts;
    if (sender.isBlocked) {
      const persistMs = deadlines.persist;
      deadlines.clearSending();
      const waitMs = Math.min(MAX_PERSIST_MS, sender.rtt.timeoutMs * 2 ** this.#attempts);
      deadlines.persist = persistMs === NEVER ? nowMs + waitMs : persistMs;
      return;
    }
    if (!sender.hasFlight) return deadlines.clearSending();
    if (deadlines.retransmit === NEVER) deadlines.retransmit = nowMs + sender.rtt.timeoutMs;
    const canProbe = sender.rtt.isKnown && !sender.isRepairing && !this.#isProbeSent;
    const probeMs = 2 * sender.rtt.smoothedMs + PEER_ACK_DELAY_MS;
    deadlines.probe = canProbe ? nowMs + probeMs : NEVER;
  }

  /** Does what is due; says what the connection itself has to do. */
  run(isSynchronized: boolean, nowMs: number): Verdict {
    const { deadlines, sender } = this.#parts;
    if (nowMs >= deadlines.delayedAck) this.#output.isAckDue = true;
    if (nowMs >= deadlines.reordering) deadlines.reordering = nowMs + sender.detectLoss(nowMs);
    if (nowMs >= deadlines.persist && !this.#probeWindow(nowMs)) return "giveUp";
    if (nowMs >= deadlines.retransmit) {
      deadlines.retransmit = NEVER;
      this.#attempts++;
      if (!isSynchronized) return this.#attempts < SYN_ATTEMPTS ? "sendSyn" : "giveUp";
      if (this.#attempts > RETRANSMIT_ATTEMPTS) return "giveUp";
      sender.timeout();
    } else if (nowMs >= deadlines.probe) {
      this.#probeLoss(nowMs);
    }
    return nowMs >= deadlines.keepalive && !this.#keepAlive(nowMs) ? "giveUp" : "goOn";
  }

  #probeLoss(nowMs: number): void {
    const { sender, deadlines } = this.#parts;
    this.#isProbeSent = true;
    deadlines.probe = NEVER;
    const piece = sender.probePiece(nowMs);
    if (piece !== undefined) this.#output.sendPiece(piece);
    deadlines.retransmit = nowMs + sender.rtt.timeoutMs;
  }

  #probeWindow(nowMs: number): boolean {
    this.#parts.deadlines.persist = NEVER;
    this.#attempts++;
    // A peer that keeps answering may keep its window closed for ever; a silent one is gone.
    if (nowMs - this.#lastReceivedMs > SILENT_PEER_MS) return false;
    const piece = this.#parts.sender.windowProbe(nowMs);
    if (piece !== undefined) this.#output.sendPiece(piece);
    return true;
  }

  #keepAlive(nowMs: number): boolean {
    const { deadlines, sender, agreement } = this.#parts;
    if (nowMs - this.#lastReceivedMs < KEEPALIVE_IDLE_MS) {
      deadlines.keepalive = this.#lastReceivedMs + KEEPALIVE_IDLE_MS;
      return true;
    }
    if (this.#keepaliveProbes >= KEEPALIVE_PROBES) return false;
    this.#keepaliveProbes++;
    deadlines.keepalive = nowMs + KEEPALIVE_INTERVAL_MS;
    // A number that was acknowledged already makes the peer answer.
    this.#output.emit(ACK, seqAdd(sender.unacked, -1), agreement.options(nowMs));
    return true;
  }
}
