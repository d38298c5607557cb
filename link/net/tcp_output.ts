// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a TCP connection sends: segments of its stream, and acknowledgements when they are due.
 *
 * @module
 */

import { NEVER } from "../timers.ts";
import type { TcpDeadlines } from "./tcp_deadlines.ts";
import { type FillPayload, INITIAL_WINDOW, type TcpHost, type TcpPath } from "./tcp_host.ts";
import type { TcpAgreement } from "./tcp_options.ts";
import type { Received, TcpReceiver } from "./tcp_receiver.ts";
import { ACK, FIN, PSH, seqAdd, seqDiff, SYN, type TcpOptions } from "./tcp_segment.ts";
import type { Piece, TcpSender } from "./tcp_sender.ts";

const DELAYED_ACK_MS = 40;
/** The first segments are acknowledged at once, which lets the peer find its rate sooner. */
const QUICK_ACKS = 16;
/** The most segments that one acknowledgement covers; more would stop the peer's clock. */
const MAX_UNACKED = 16;

/** What a connection is made of; the halves are set anew when the peer's SYN comes. */
export interface TcpParts {
  readonly host: TcpHost;
  readonly path: TcpPath;
  readonly initialSeq: number;
  readonly agreement: TcpAgreement;
  readonly deadlines: TcpDeadlines;
  sender: TcpSender;
  receiver: TcpReceiver;
}

/** The way out of a connection. */
export class TcpOutput {
  /** The next byte that the peer was last told we expect. */
  lastAckSent = 0;
  /** Whether the connection is gone, and nothing is sent any more. */
  isClosed = false;
  /** Whether an acknowledgement goes out with whatever is sent next. */
  isAckDue = false;
  readonly #parts: TcpParts;
  #quickAcks = QUICK_ACKS;
  #segmentsToAck = 0;
  #isDeferred = false;

  constructor(parts: TcpParts) {
    this.#parts = parts;
  }

  /** Sends our SYN, or our answer to the peer's. */
  sendSyn(isAnswer: boolean, nowMs: number): void {
    const { host, path, agreement, receiver, initialSeq } = this.#parts;
    host.emit(path, {
      sourcePort: path.localPort,
      destinationPort: path.remotePort,
      seq: initialSeq,
      ack: isAnswer ? receiver.nextSeq : 0,
      flags: isAnswer ? SYN | ACK : SYN,
      window: INITIAL_WINDOW,
      options: agreement.synOptions(isAnswer, nowMs),
    }, 0);
    if (isAnswer) this.lastAckSent = receiver.nextSeq;
  }

  /** Sends everything that may go out, then an acknowledgement if one is due. */
  flush(nowMs: number): void {
    const { sender, deadlines } = this.#parts;
    let piece = sender.nextPiece(nowMs);
    while (piece !== undefined) {
      this.sendPiece(piece);
      piece = sender.nextPiece(nowMs);
    }
    deadlines.pace = sender.paceMs > nowMs ? sender.paceMs : NEVER;
    if (this.isAckDue) this.sendAck();
  }

  /** Sends a piece of the stream. */
  sendPiece(piece: Piece): void {
    const { sender, agreement, host } = this.#parts;
    const isLast = piece.length > 0 && sender.unsent === 0 &&
      seqDiff(seqAdd(piece.seq, piece.length), sender.next) >= 0;
    const flags = ACK | (piece.isFin ? FIN : 0) | (isLast ? PSH : 0);
    this.emit(flags, piece.seq, agreement.options(host.nowMs()), piece.length, (packet, offset) => {
      sender.copy(piece, packet, offset);
    });
  }

  /** Sends an acknowledgement, with what is known of gaps and duplicates. */
  sendAck(): void {
    const { sender, receiver, agreement, host } = this.#parts;
    const options = agreement.options(host.nowMs());
    if (agreement.hasSack && receiver.hasReport) options.sacks = receiver.sackBlocks();
    this.emit(ACK, sender.ackSeq, options);
  }

  /** Decides when a segment with payload is acknowledged. */
  noteReceived(received: Received, isUrgent: boolean, nowMs: number): void {
    const { deadlines } = this.#parts;
    this.#segmentsToAck++;
    if (this.#quickAcks > 0) this.#quickAcks--;
    const isNow = received !== "inOrder" || isUrgent || this.#quickAcks > 0;
    if (isNow || this.#segmentsToAck >= MAX_UNACKED) this.isAckDue = true;
    else if (this.#segmentsToAck >= 2) this.#ackAfterTurn();
    else if (deadlines.delayedAck === NEVER) deadlines.delayedAck = nowMs + DELAYED_ACK_MS;
  }

  /** One acknowledgement for all that came in together, as a network card's driver would give. */
  #ackAfterTurn(): void {
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#parts.host.defer(() => {
      this.#isDeferred = false;
      if (this.#segmentsToAck >= 2 && !this.isClosed) this.sendAck();
    });
  }

  /** Sends one segment. */
  emit(flags: number, seq: number, options: TcpOptions, length = 0, fill?: FillPayload): void {
    const { host, path, receiver, agreement, deadlines } = this.#parts;
    host.emit(
      path,
      {
        sourcePort: path.localPort,
        destinationPort: path.remotePort,
        seq,
        ack: flags & ACK ? receiver.nextSeq : 0,
        flags,
        window: agreement.wireWindow(receiver.updateWindow()),
        options,
      },
      length,
      fill,
    );
    if (!(flags & ACK)) return;
    this.lastAckSent = receiver.nextSeq;
    this.#segmentsToAck = 0;
    this.isAckDue = false;
    deadlines.delayedAck = NEVER;
  }
}
