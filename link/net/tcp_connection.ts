// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One TCP connection: its states, what it answers to a segment, and its timers (RFC 9293).
 *
 * All deadlines of a connection share one timer of the device's queue.
 *
 * @module
 */

import { NEVER, type Timer, type TimerQueue } from "../timers.ts";
import { TcpReceiver } from "./tcp_receiver.ts";
import {
  ACK,
  FIN,
  PSH,
  RST,
  seqAdd,
  seqDiff,
  SYN,
  TCP_HEADER_SIZE,
  type TcpHeader,
  type TcpOptions,
  type TcpSegment,
  TIMESTAMPS_SIZE,
} from "./tcp_segment.ts";
import { type Piece, TcpSender } from "./tcp_sender.ts";
import { IPV6_HEADER_SIZE } from "./ipv6.ts";
import { MTU } from "../wireguard/messages.ts";

/** The states of RFC 9293; a listener is no connection here. */
export type TcpState =
  | "synSent"
  | "synReceived"
  | "established"
  | "finWait1"
  | "finWait2"
  | "closeWait"
  | "closing"
  | "lastAck"
  | "timeWait"
  | "closed";

/** Why a connection ended otherwise than by both sides closing it. */
export type TcpFailure = "refused" | "reset" | "timedOut" | "aborted";

/** Names a connection. */
export interface TcpPath {
  readonly localPort: number;
  /** 16 bytes. */
  readonly remoteAddress: Uint8Array;
  /** The same as a map key. */
  readonly remoteKey: string;
  readonly remotePort: number;
}

/** What a connection needs from the stack. */
export interface TcpHost {
  readonly timers: TimerQueue;
  nowMs(): number;
  /** Sends a segment; `fill` writes `length` bytes of payload at an offset of the packet. */
  emit(
    path: TcpPath,
    header: TcpHeader,
    length: number,
    fill?: (packet: Uint8Array, offset: number) => void,
  ): void;
  /** Whether one more acknowledgement of something doubtful may go out at this moment. */
  allowChallenge(): boolean;
  /** Accounts for memory of buffers. */
  resized(bytes: number): void;
  /** The largest window that a connection may offer at this moment. */
  windowLimit(): number;
}

/** What the owner of a connection is told. */
export interface TcpEvents {
  /** The handshake is complete. */
  onEstablished(): void;
  /** Data or the end came in, or room to write appeared. */
  onProgress(): void;
  /** The connection is gone. */
  onClosed(failure: TcpFailure | undefined): void;
}

/** The largest segment that a packet of the tunnel holds. */
export const LOCAL_MSS = MTU - IPV6_HEADER_SIZE - TCP_HEADER_SIZE;
/** What we offer at first; small enough for the default receive buffer of the UDP socket. */
export const INITIAL_WINDOW = 65_535;

/** Windows of up to 8 MiB can be offered. */
const WINDOW_SCALE = 7;
const SMALLEST_MSS = 536;
const SMALLEST_SEND_BUFFER = 128 * 1024;
const LARGEST_SEND_BUFFER = 1024 * 1024;
/** Less room in the buffer is not worth waking a writer for. */
const SMALLEST_WRITE = 4096;
const DELAYED_ACK_MS = 40;
/** The first segments are acknowledged at once, which lets the peer find its rate sooner. */
const QUICK_ACKS = 16;
const SYN_ATTEMPTS = 6;
const RETRANSMIT_ATTEMPTS = 10;
const MAX_PERSIST_MS = 60_000;
const TIME_WAIT_MS = 30_000;
/** How long we wait for the peer's end after nobody can read it any more. */
const ORPHAN_MS = 30_000;
const KEEPALIVE_IDLE_MS = 60_000;
const KEEPALIVE_INTERVAL_MS = 15_000;
const KEEPALIVE_PROBES = 4;
const MAX_PEER_ACK_DELAY_MS = 40;
/** A timestamp may be this far behind the latest before it counts as one of another lifetime. */
const PAWS_IDLE_MS = 24 * 24 * 3600 * 1000;

/** A connection. */
export class TcpConnection {
  state: TcpState;
  readonly #host: TcpHost;
  readonly #events: TcpEvents;
  readonly #initialSeq: number;
  readonly #timer: Timer;
  #sender: TcpSender;
  #receiver: TcpReceiver;
  #peerScale = 0;
  #ownScale = 0;
  #hasTimestamps = false;
  #hasSack = false;
  #recentTimestamp = 0;
  #recentTimestampMs = 0;
  #lastAckSent = 0;
  #windowSeq = 0;
  #windowAck = 0;
  #quickAcks = QUICK_ACKS;
  #segmentsToAck = 0;
  #isAckDue = false;
  #attempts = 0;
  #isProbeSent = false;
  #isOrphan = false;
  #lastReceivedMs: number;
  #keepaliveProbes = 0;
  #peerMss = LOCAL_MSS;
  #retransmitAtMs = NEVER;
  #probeAtMs = NEVER;
  #reorderingAtMs = NEVER;
  #delayedAckAtMs = NEVER;
  #persistAtMs = NEVER;
  #lingerAtMs = NEVER;
  #keepaliveAtMs = NEVER;

  /** Makes a connection that asks (`synSent`) or, with the peer's SYN, one that answers. */
  constructor(
    host: TcpHost,
    readonly path: TcpPath,
    initialSeq: number,
    events: TcpEvents,
    syn?: TcpSegment,
  ) {
    this.#host = host;
    this.#events = events;
    this.#initialSeq = initialSeq;
    this.#timer = host.timers.create((nowMs) => this.#fire(nowMs));
    this.#lastReceivedMs = host.nowMs();
    this.#sender = this.#newSender(LOCAL_MSS);
    this.#receiver = this.#newReceiver(0);
    this.state = syn === undefined ? "synSent" : "synReceived";
    if (syn !== undefined) this.#takeSyn(syn);
    this.#sendSyn();
  }

  /** Bytes that can be read at once. */
  get available(): number {
    return this.#receiver.available;
  }

  /** Whether everything up to the peer's end was read. */
  get isAtEnd(): boolean {
    return this.#receiver.isFinished && this.#receiver.available === 0;
  }

  /** How much {@linkcode write} takes. */
  get writable(): number {
    const wanted = 2 * Math.floor(this.#sender.congestion.windowBytes);
    const limit = Math.min(Math.max(wanted, SMALLEST_SEND_BUFFER), LARGEST_SEND_BUFFER);
    const room = limit - this.#sender.buffered;
    return room < SMALLEST_WRITE ? 0 : room;
  }

  /** Whether a SYN belongs to a later connection than this one. */
  isNewer(segment: TcpSegment): boolean {
    const { timestamps } = segment.options;
    if (this.#hasTimestamps && timestamps !== undefined) {
      return seqDiff(timestamps.value, this.#recentTimestamp) > 0;
    }
    return seqDiff(segment.seq, this.#receiver.nextSeq) > 0;
  }

  /** Moves received bytes to the reader; returns how many. */
  read(target: Uint8Array): number {
    const length = this.#receiver.read(target);
    if (length > 0 && this.#isReceiving()) {
      const gain = this.#receiver.windowGain;
      // A window that has almost closed is opened again in steps worth a segment of its own.
      if (gain >= this.#receiver.maxWindow / 4) this.#sendAck();
    }
    return length;
  }

  /** Takes bytes to be sent; returns how many. */
  write(data: Uint8Array): number {
    const length = Math.min(data.length, this.writable);
    if (length > 0) {
      this.#sender.push(data.subarray(0, length));
      this.#output();
    }
    return length;
  }

  /** Sends the end of the stream behind what was written. */
  closeWrite(): void {
    if (this.state === "synReceived" || this.state === "synSent") return this.abort();
    if (this.#sender.isFinQueued || this.state === "closed") return;
    this.#sender.isFinQueued = true;
    if (this.state === "established") this.state = "finWait1";
    else if (this.state === "closeWait") this.state = "lastAck";
    this.#output();
  }

  /** Nobody reads or writes any more: what was written still goes out, if the peer listens. */
  close(): void {
    if (this.state === "closed") return this.#receiver.release();
    if (this.#isOrphan) return;
    if (this.#receiver.available > 0) return this.abort();
    this.#isOrphan = true;
    this.closeWrite();
    if (this.state === "finWait2") this.#lingerAtMs = this.#host.nowMs() + ORPHAN_MS;
    this.#arm();
  }

  /** Ends the connection at once and tells the peer. */
  abort(failure: TcpFailure = "aborted"): void {
    if (this.state === "closed") return;
    if (this.state !== "synSent" && this.state !== "timeWait") {
      this.#emit(RST | ACK, this.#sender.next, {});
    }
    this.#end(failure);
  }

  /** Takes a segment of this connection. */
  receive(segment: TcpSegment): void {
    const nowMs = this.#host.nowMs();
    if (this.state === "synSent") this.#receiveInSynSent(segment, nowMs);
    else this.#receiveSynchronized(segment, nowMs);
    if (this.state !== "closed") this.#output();
  }

  #newSender(mss: number): TcpSender {
    const first = seqAdd(this.#initialSeq, 1);
    return new TcpSender(first, mss, (bytes) => this.#host.resized(bytes));
  }

  #newReceiver(firstSeq: number): TcpReceiver {
    return new TcpReceiver(firstSeq, INITIAL_WINDOW, (bytes) => this.#host.resized(bytes));
  }

  #takeSyn(segment: TcpSegment): void {
    const { mss, windowScale, timestamps, isSackPermitted } = segment.options;
    this.#receiver = this.#newReceiver(seqAdd(segment.seq, 1));
    this.#peerMss = Math.max(SMALLEST_MSS, Math.min(mss ?? SMALLEST_MSS, LOCAL_MSS));
    if (windowScale !== undefined) {
      this.#peerScale = windowScale;
      this.#ownScale = WINDOW_SCALE;
    }
    this.#hasSack = isSackPermitted ?? false;
    this.#hasTimestamps = timestamps !== undefined;
    if (timestamps !== undefined) this.#noteTimestamp(timestamps.value);
    this.#sender = this.#newSender(this.#peerMss - (this.#hasTimestamps ? TIMESTAMPS_SIZE : 0));
    // The window of a segment with SYN is never scaled.
    this.#sender.window = segment.window;
    this.#windowSeq = segment.seq;
  }

  #sendSyn(): void {
    const isAnswer = this.state === "synReceived";
    const options: TcpOptions = { mss: LOCAL_MSS };
    if (!isAnswer || this.#ownScale > 0) options.windowScale = WINDOW_SCALE;
    if (!isAnswer || this.#hasSack) options.isSackPermitted = true;
    if (!isAnswer || this.#hasTimestamps) options.timestamps = this.#timestamps();
    this.#host.emit(this.path, {
      sourcePort: this.path.localPort,
      destinationPort: this.path.remotePort,
      seq: this.#initialSeq,
      ack: isAnswer ? this.#receiver.nextSeq : 0,
      flags: isAnswer ? SYN | ACK : SYN,
      window: INITIAL_WINDOW,
      options,
    }, 0);
    if (isAnswer) this.#lastAckSent = this.#receiver.nextSeq;
    this.#retransmitAtMs = this.#host.nowMs() + 1000 * 2 ** this.#attempts;
    this.#arm();
  }

  #receiveInSynSent(segment: TcpSegment, nowMs: number): void {
    const { flags } = segment;
    const isOurs = segment.ack === seqAdd(this.#initialSeq, 1);
    if ((flags & ACK) && !isOurs) {
      if (!(flags & RST)) this.#emit(RST, segment.ack, {});
      return;
    }
    if (flags & RST) {
      if (flags & ACK) this.#end("refused");
      return;
    }
    if (!(flags & SYN)) return;
    this.#takeSyn(segment);
    this.#attempts = 0;
    if (flags & ACK) {
      this.#windowAck = segment.ack;
      this.#establish(nowMs);
      this.#isAckDue = true;
    } else {
      // Both sides asked at the same time.
      this.state = "synReceived";
      this.#sendSyn();
    }
  }

  #receiveSynchronized(segment: TcpSegment, nowMs: number): void {
    const { flags } = segment;
    if (!this.#isAcceptable(segment, nowMs)) {
      if (flags & RST) return;
      const isSynAgain = this.state === "synReceived" && (flags & SYN) && !(flags & ACK);
      if (isSynAgain) this.#sendSyn();
      else if (segment.payload.length > 0 || this.#host.allowChallenge()) this.#isAckDue = true;
      if (this.state === "timeWait" && (flags & FIN)) this.#lingerAtMs = nowMs + TIME_WAIT_MS;
      return;
    }
    this.#lastReceivedMs = nowMs;
    this.#keepaliveProbes = 0;
    if (flags & RST) {
      // RFC 5961: only the exact number resets; a guess makes us ask.
      if (segment.seq === this.#receiver.nextSeq) {
        this.#end(this.state === "synReceived" ? "refused" : "reset");
      } else if (this.#host.allowChallenge()) this.#isAckDue = true;
      return;
    }
    if (flags & SYN) {
      if (this.#host.allowChallenge()) this.#isAckDue = true;
      return;
    }
    if (!(flags & ACK) || !this.#takeAck(segment, nowMs)) return;
    this.#noteSegmentTimestamp(segment, nowMs);
    if (segment.payload.length > 0 || (flags & FIN)) this.#takeData(segment, nowMs);
  }

  /** The four cases of RFC 9293 section 3.10.7.4, after protection against old segments. */
  #isAcceptable(segment: TcpSegment, nowMs: number): boolean {
    const { timestamps } = segment.options;
    if (
      this.#hasTimestamps && timestamps !== undefined && !(segment.flags & RST) &&
      seqDiff(timestamps.value, this.#recentTimestamp) < 0 &&
      nowMs - this.#recentTimestampMs < PAWS_IDLE_MS
    ) return false;
    const length = segment.payload.length + (segment.flags & FIN ? 1 : 0) +
      (segment.flags & SYN ? 1 : 0);
    const { window, nextSeq } = this.#receiver;
    const start = seqDiff(segment.seq, nextSeq);
    if (length === 0) return window === 0 ? start === 0 : start >= 0 && start < window;
    return window > 0 && start < window && start + length > 0;
  }

  #takeAck(segment: TcpSegment, nowMs: number): boolean {
    const sender = this.#sender;
    if (this.state === "synReceived") {
      if (segment.ack !== seqAdd(this.#initialSeq, 1)) {
        this.#emit(RST, segment.ack, {});
        return false;
      }
      this.#windowSeq = segment.seq;
      this.#windowAck = segment.ack;
      sender.window = segment.window << this.#peerScale;
      this.#establish(nowMs);
    }
    if (seqDiff(segment.ack, sender.next) > 0) {
      if (this.#host.allowChallenge()) this.#isAckDue = true;
      return false;
    }
    const isOld = seqDiff(segment.ack, sender.unacked) < 0;
    this.#takeWindow(segment, isOld);
    if (isOld) return true;
    const sacks = this.#hasSack ? segment.options.sacks ?? [] : [];
    const { bytes, reorderingMs } = sender.acknowledge(segment.ack, sacks, nowMs);
    this.#reorderingAtMs = nowMs + reorderingMs;
    if (bytes > 0) {
      this.#attempts = 0;
      this.#isProbeSent = false;
      this.#retransmitAtMs = NEVER;
      if (sender.isFinAcked) this.#finAcked(nowMs);
      this.#events.onProgress();
    }
    return true;
  }

  #takeWindow(segment: TcpSegment, isOld: boolean): void {
    const newer = seqDiff(segment.seq, this.#windowSeq);
    const isNewer = newer > 0 || (newer === 0 && seqDiff(segment.ack, this.#windowAck) >= 0);
    if (isOld || !isNewer) return;
    this.#sender.window = segment.window << this.#peerScale;
    this.#windowSeq = segment.seq;
    this.#windowAck = segment.ack;
    if (this.#sender.window > 0 && this.#persistAtMs !== NEVER) {
      this.#persistAtMs = NEVER;
      this.#attempts = 0;
      this.#sender.reopen();
    }
  }

  #takeData(segment: TcpSegment, nowMs: number): void {
    if (!this.#isReceiving()) {
      this.#isAckDue = true;
      return;
    }
    if (this.#isOrphan && segment.payload.length > 0) return this.abort();
    const isFin = (segment.flags & FIN) !== 0;
    const hadGap = this.#receiver.hasGap;
    const received = this.#receiver.accept(segment.seq, segment.payload, isFin);
    this.#segmentsToAck++;
    if (
      received !== "inOrder" || hadGap || isFin || this.#segmentsToAck >= 2 || this.#quickAcks > 0
    ) {
      this.#isAckDue = true;
      if (this.#quickAcks > 0) this.#quickAcks--;
    } else if (this.#delayedAckAtMs === NEVER) {
      this.#delayedAckAtMs = nowMs + DELAYED_ACK_MS;
    }
    if (this.#receiver.isFinished) this.#finReceived(nowMs);
    if (received === "inOrder") this.#events.onProgress();
  }

  #finReceived(nowMs: number): void {
    if (this.state === "established") this.state = "closeWait";
    else if (this.state === "finWait1") this.state = "closing";
    else if (this.state === "finWait2") this.#startTimeWait(nowMs);
  }

  #finAcked(nowMs: number): void {
    if (this.state === "finWait1") {
      this.state = "finWait2";
      if (this.#isOrphan) this.#lingerAtMs = nowMs + ORPHAN_MS;
    } else if (this.state === "closing") this.#startTimeWait(nowMs);
    else if (this.state === "lastAck") this.#end(undefined);
  }

  #startTimeWait(nowMs: number): void {
    this.state = "timeWait";
    this.#sender.release();
    this.#retransmitAtMs =
      this.#probeAtMs =
      this.#persistAtMs =
      this.#keepaliveAtMs =
        NEVER;
    this.#lingerAtMs = nowMs + TIME_WAIT_MS;
  }

  #isReceiving(): boolean {
    return this.state === "established" || this.state === "finWait1" || this.state === "finWait2";
  }

  #establish(nowMs: number): void {
    this.state = "established";
    this.#attempts = 0;
    this.#retransmitAtMs = NEVER;
    this.#keepaliveAtMs = nowMs + KEEPALIVE_IDLE_MS;
    this.#events.onEstablished();
  }

  #noteSegmentTimestamp(segment: TcpSegment, nowMs: number): void {
    const { timestamps } = segment.options;
    if (timestamps === undefined || !this.#hasTimestamps) return;
    if (seqDiff(segment.seq, this.#lastAckSent) > 0) return;
    if (seqDiff(timestamps.value, this.#recentTimestamp) < 0) {
      if (nowMs - this.#recentTimestampMs < PAWS_IDLE_MS) return;
    }
    this.#noteTimestamp(timestamps.value);
  }

  #noteTimestamp(value: number): void {
    this.#recentTimestamp = value;
    this.#recentTimestampMs = this.#host.nowMs();
  }

  #timestamps(): { value: number; echo: number } {
    return { value: Math.floor(this.#host.nowMs()) >>> 0, echo: this.#recentTimestamp };
  }

  /** Sends what may go out, and an acknowledgement that is due. */
  #output(): void {
    if (this.state === "synSent" || this.state === "synReceived" || this.state === "closed") return;
    const nowMs = this.#host.nowMs();
    if (this.state !== "timeWait") {
      for (let piece = this.#sender.nextPiece(nowMs); piece !== undefined;) {
        this.#sendPiece(piece);
        piece = this.#sender.nextPiece(nowMs);
      }
    }
    if (this.#isAckDue) this.#sendAck();
    this.#updateTimers(nowMs);
    this.#arm();
  }

  #sendPiece(piece: Piece): void {
    const isLast = seqDiff(seqAdd(piece.seq, piece.length), this.#sender.next) >= 0 &&
      this.#sender.unsent === 0;
    const flags = ACK | (piece.isFin ? FIN : 0) | (isLast && piece.length > 0 ? PSH : 0);
    this.#emit(
      flags,
      piece.seq,
      this.#hasTimestamps ? { timestamps: this.#timestamps() } : {},
      piece.length,
      (packet, offset) => this.#sender.copy(piece, packet, offset),
    );
  }

  #sendAck(): void {
    const options: TcpOptions = this.#hasTimestamps ? { timestamps: this.#timestamps() } : {};
    if (this.#hasSack && this.#receiver.hasReport) options.sacks = this.#receiver.sackBlocks();
    this.#emit(ACK, this.#sender.next, options);
  }

  #emit(
    flags: number,
    seq: number,
    options: TcpOptions,
    length = 0,
    fill?: (packet: Uint8Array, offset: number) => void,
  ): void {
    const window = this.#receiver.updateWindow();
    this.#host.emit(
      this.path,
      {
        sourcePort: this.path.localPort,
        destinationPort: this.path.remotePort,
        seq,
        ack: flags & ACK ? this.#receiver.nextSeq : 0,
        flags,
        window: Math.min(window >>> this.#ownScale, 0xffff),
        options,
      },
      length,
      fill,
    );
    if (!(flags & ACK)) return;
    this.#lastAckSent = this.#receiver.nextSeq;
    this.#segmentsToAck = 0;
    this.#isAckDue = false;
    this.#delayedAckAtMs = NEVER;
  }

  #updateTimers(nowMs: number): void {
    const sender = this.#sender;
    if (this.state === "timeWait") return;
    const isBlocked = sender.window === 0 && (sender.buffered > 0 || sender.isFinQueued) &&
      !sender.isFinAcked;
    if (isBlocked) {
      this.#retransmitAtMs = this.#probeAtMs = NEVER;
      if (this.#persistAtMs === NEVER) {
        const waitMs = Math.min(MAX_PERSIST_MS, sender.rtt.timeoutMs * 2 ** this.#attempts);
        this.#persistAtMs = nowMs + waitMs;
      }
      return;
    }
    if (!sender.hasFlight) {
      this.#retransmitAtMs = this.#probeAtMs = this.#reorderingAtMs = NEVER;
      return;
    }
    if (this.#retransmitAtMs === NEVER) this.#retransmitAtMs = nowMs + sender.rtt.timeoutMs;
    const canProbe = sender.rtt.isKnown && !sender.isRecovering && !sender.hasSacked &&
      !this.#isProbeSent;
    const probeMs = 2 * sender.rtt.smoothedMs + MAX_PEER_ACK_DELAY_MS + 2;
    this.#probeAtMs = canProbe ? nowMs + probeMs : NEVER;
  }

  #fire(nowMs: number): void {
    if (nowMs >= this.#lingerAtMs) return this.#end(undefined);
    if (nowMs >= this.#delayedAckAtMs) this.#isAckDue = true;
    if (nowMs >= this.#reorderingAtMs) {
      this.#reorderingAtMs = nowMs + this.#sender.detectLoss(nowMs);
    }
    if (nowMs >= this.#persistAtMs) this.#probeWindow(nowMs);
    if (nowMs >= this.#retransmitAtMs) this.#retransmit();
    else if (nowMs >= this.#probeAtMs) this.#probeLoss(nowMs);
    if (nowMs >= this.#keepaliveAtMs) this.#keepAlive(nowMs);
    if (this.state === "closed") return;
    this.#output();
    this.#arm();
  }

  #retransmit(): void {
    this.#retransmitAtMs = NEVER;
    this.#attempts++;
    if (this.state === "synSent" || this.state === "synReceived") {
      if (this.#attempts >= SYN_ATTEMPTS) this.#end("timedOut");
      else this.#sendSyn();
    } else if (this.#attempts > RETRANSMIT_ATTEMPTS) {
      this.abort("timedOut");
    } else {
      this.#sender.timeout();
    }
  }

  #probeLoss(nowMs: number): void {
    this.#isProbeSent = true;
    this.#probeAtMs = NEVER;
    const piece = this.#sender.probePiece(nowMs);
    if (piece !== undefined) this.#sendPiece(piece);
    this.#retransmitAtMs = nowMs + this.#sender.rtt.timeoutMs;
  }

  #probeWindow(nowMs: number): void {
    this.#persistAtMs = NEVER;
    this.#attempts++;
    // A peer that keeps answering may keep its window closed for ever; a silent one is gone.
    if (nowMs - this.#lastReceivedMs > 2 * MAX_PERSIST_MS && this.#attempts > RETRANSMIT_ATTEMPTS) {
      return this.abort("timedOut");
    }
    const piece = this.#sender.windowProbe(nowMs);
    if (piece !== undefined) this.#sendPiece(piece);
  }

  #keepAlive(nowMs: number): void {
    const idleMs = nowMs - this.#lastReceivedMs;
    if (idleMs < KEEPALIVE_IDLE_MS) {
      this.#keepaliveAtMs = this.#lastReceivedMs + KEEPALIVE_IDLE_MS;
      return;
    }
    if (this.#keepaliveProbes >= KEEPALIVE_PROBES) return this.abort("timedOut");
    this.#keepaliveProbes++;
    this.#keepaliveAtMs = nowMs + KEEPALIVE_INTERVAL_MS;
    // A number that was acknowledged already makes the peer answer.
    const options = this.#hasTimestamps ? { timestamps: this.#timestamps() } : {};
    this.#emit(ACK, seqAdd(this.#sender.unacked, -1), options);
  }

  #end(failure: TcpFailure | undefined): void {
    this.state = "closed";
    this.#timer.clear();
    this.#sender.release();
    // What the peer sent before it went away can still be read.
    if (failure === "aborted" || this.#isOrphan) this.#receiver.release();
    this.#events.onClosed(failure);
  }

  #arm(): void {
    if (this.state === "closed") return;
    this.#timer.set(Math.min(
      this.#retransmitAtMs,
      this.#probeAtMs,
      this.#reorderingAtMs,
      this.#delayedAckAtMs,
      this.#persistAtMs,
      this.#lingerAtMs,
      this.#keepaliveAtMs,
    ));
  }
}
