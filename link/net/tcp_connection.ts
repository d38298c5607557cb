// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One TCP connection: its states, what it answers to a segment, and its timers (RFC 9293).
 *
 * @module
 */

import { NEVER } from "../timers.ts";
import { TcpDeadlines } from "./tcp_deadlines.ts";
import {
  INITIAL_WINDOW,
  LOCAL_MSS,
  type TcpEvents,
  type TcpFailure,
  type TcpHost,
  type TcpPath,
} from "./tcp_host.ts";
import { TcpAgreement } from "./tcp_options.ts";
import { TcpOutput, type TcpParts } from "./tcp_output.ts";
import { TcpReceiver } from "./tcp_receiver.ts";
import { ACK, FIN, RST, seqAdd, seqDiff, SYN, type TcpSegment } from "./tcp_segment.ts";
import { TcpRetries } from "./tcp_retries.ts";
import { TcpSender } from "./tcp_sender.ts";
import { WindowTuner } from "./tcp_window.ts";

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

const TIME_WAIT_MS = 30_000;
/** How long we wait for the peer's end after nobody can read it any more. */
const ORPHAN_MS = 30_000;
/** A connection. */
export class TcpConnection {
  state: TcpState;
  readonly #events: TcpEvents;
  readonly #parts: TcpParts;
  readonly #output: TcpOutput;
  readonly #retries: TcpRetries;
  readonly #tuner = new WindowTuner();
  /** The segment that told the peer's window last (RFC 9293: SND.WL1 and SND.WL2). */
  #windowSeq = 0;
  #windowAck = 0;
  /** Whether the program has let go of the connection. */
  #isOrphan = false;

  /** Makes a connection that asks (`synSent`) or, with the peer's SYN, one that answers. */
  constructor(
    host: TcpHost,
    readonly path: TcpPath,
    initialSeq: number,
    events: TcpEvents,
    syn?: TcpSegment,
  ) {
    this.#events = events;
    this.#parts = {
      host,
      path,
      initialSeq,
      agreement: new TcpAgreement(),
      deadlines: new TcpDeadlines(host.timers, (nowMs) => this.#fire(nowMs)),
      sender: newSender(host, initialSeq, LOCAL_MSS),
      receiver: newReceiver(host, 0),
    };
    this.#output = new TcpOutput(this.#parts);
    this.#retries = new TcpRetries(this.#parts, this.#output);
    this.state = syn === undefined ? "synSent" : "synReceived";
    if (syn !== undefined) this.#takeSyn(syn, host.nowMs());
    this.#sendSyn();
  }

  /** Bytes that can be read at once. */
  get available(): number {
    return this.#parts.receiver.available;
  }

  /** Whether everything up to the peer's end was read. */
  get isAtEnd(): boolean {
    return this.#parts.receiver.isFinished && this.#parts.receiver.available === 0;
  }

  /** How much {@linkcode write} takes. */
  get writable(): number {
    return this.#parts.sender.room;
  }

  /** Whether a SYN belongs to a later connection than this one. */
  isBefore(syn: TcpSegment): boolean {
    return this.#parts.agreement.isLater(syn, this.#parts.receiver.nextSeq);
  }

  /** Moves received bytes to the reader; returns how many. */
  read(target: Uint8Array): number {
    const receiver = this.#parts.receiver;
    const length = receiver.read(target);
    if (length === 0 || !this.#isReceiving()) return length;
    const wanted = this.#tuner.noteRead(length, this.#parts.host.nowMs());
    receiver.maxWindow = Math.max(
      receiver.maxWindow,
      Math.min(wanted, this.#parts.host.windowLimit()),
    );
    // A window that was almost closed opens in steps that are worth a segment of their own.
    if (receiver.windowGain >= receiver.maxWindow / 4) this.#output.sendAck();
    return length;
  }

  /** Takes bytes to be sent; returns how many. */
  write(data: Uint8Array): number {
    const length = this.state === "closed" ? 0 : Math.min(data.length, this.writable);
    if (length > 0) {
      this.#parts.sender.push(data.subarray(0, length));
      this.#flush();
    }
    return length;
  }

  /** Sends the end of the stream behind what was written. */
  closeWrite(): void {
    if (this.state === "synReceived" || this.state === "synSent") return this.abort();
    if (this.#parts.sender.isFinQueued || this.state === "closed") return;
    this.#parts.sender.isFinQueued = true;
    if (this.state === "established") this.state = "finWait1";
    else if (this.state === "closeWait") this.state = "lastAck";
    this.#flush();
  }

  /** Nobody reads or writes any more: what was written still goes out, if the peer listens. */
  close(): void {
    if (this.state === "closed") return this.#parts.receiver.release();
    if (this.#isOrphan) return;
    if (this.#parts.receiver.available > 0) return this.abort();
    this.#isOrphan = true;
    this.closeWrite();
    if (this.state === "finWait2") {
      this.#parts.deadlines.linger = this.#parts.host.nowMs() + ORPHAN_MS;
    }
    this.#arm();
  }

  /** Ends the connection at once and tells the peer. */
  abort(failure: TcpFailure = "aborted"): void {
    if (this.state === "closed") return;
    if (this.state !== "synSent" && this.state !== "timeWait") {
      this.#output.emit(RST | ACK, this.#parts.sender.next, {});
    }
    this.#end(failure);
  }

  /** Takes a segment of this connection. */
  receive(segment: TcpSegment): void {
    const nowMs = this.#parts.host.nowMs();
    if (this.state === "synSent") this.#receiveInSynSent(segment, nowMs);
    else this.#receiveSynchronized(segment, nowMs);
    this.#flush();
  }

  #takeSyn(segment: TcpSegment, nowMs: number): void {
    const parts = this.#parts;
    parts.agreement.accept(segment, nowMs);
    parts.receiver = newReceiver(parts.host, seqAdd(segment.seq, 1));
    parts.sender = newSender(parts.host, parts.initialSeq, parts.agreement.mss);
    // The window of a segment with SYN is never scaled.
    parts.sender.window = segment.window;
    this.#windowSeq = segment.seq;
  }

  #sendSyn(): void {
    const nowMs = this.#parts.host.nowMs();
    this.#output.sendSyn(this.state === "synReceived", nowMs);
    this.#retries.noteSyn(nowMs);
    this.#arm();
  }

  #receiveInSynSent(segment: TcpSegment, nowMs: number): void {
    const { flags } = segment;
    const isOurs = segment.ack === seqAdd(this.#parts.initialSeq, 1);
    if ((flags & ACK) && !isOurs) {
      if (!(flags & RST)) this.#output.emit(RST, segment.ack, {});
      return;
    }
    if (flags & RST) {
      if (flags & ACK) this.#end("refused");
      return;
    }
    if (!(flags & SYN)) return;
    this.#takeSyn(segment, nowMs);
    this.#retries.noteAnswered();
    if (flags & ACK) {
      this.#windowAck = segment.ack;
      this.#establish(nowMs);
      this.#output.isAckDue = true;
    } else {
      // Both sides asked at the same time.
      this.state = "synReceived";
      this.#sendSyn();
    }
  }

  #receiveSynchronized(segment: TcpSegment, nowMs: number): void {
    const { flags } = segment;
    const isOld = !(flags & RST) && this.#parts.agreement.isOld(segment, nowMs);
    if (isOld || !this.#parts.receiver.isAcceptable(segment)) {
      return this.#answerUnacceptable(segment, nowMs);
    }
    this.#retries.noteReceived(nowMs);
    if (flags & RST) {
      // RFC 5961: only the exact number resets; a guess makes us ask.
      if (segment.seq !== this.#parts.receiver.nextSeq) return this.#challenge();
      return this.#end(this.state === "synReceived" ? "refused" : "reset");
    }
    if (flags & SYN) return this.#challenge();
    if (!(flags & ACK) || !this.#takeAck(segment, nowMs)) return;
    this.#parts.agreement.note(segment, this.#output.lastAckSent, nowMs);
    if (segment.payload.length > 0 || (flags & FIN)) this.#takePayload(segment, nowMs);
  }

  #answerUnacceptable(segment: TcpSegment, nowMs: number): void {
    const { flags } = segment;
    if (flags & RST) return;
    if (this.state === "synReceived" && (flags & SYN) && !(flags & ACK)) {
      this.#sendSyn();
    } else if (segment.payload.length > 0) {
      this.#parts.receiver.noteDuplicate(segment.seq, segment.payload.length);
      this.#output.isAckDue = true;
    } else {
      this.#challenge();
    }
    if (this.state === "timeWait" && (flags & FIN)) {
      this.#parts.deadlines.linger = nowMs + TIME_WAIT_MS;
    }
  }

  #challenge(): void {
    if (this.#parts.host.allowChallenge()) this.#output.isAckDue = true;
  }

  #takeAck(segment: TcpSegment, nowMs: number): boolean {
    const sender = this.#parts.sender;
    if (this.state === "synReceived") {
      if (segment.ack !== seqAdd(this.#parts.initialSeq, 1)) {
        this.#output.emit(RST, segment.ack, {});
        return false;
      }
      this.#establish(nowMs);
    }
    if (seqDiff(segment.ack, sender.next) > 0) {
      this.#challenge();
      return false;
    }
    if (seqDiff(segment.ack, sender.unacked) < 0) return true;
    this.#takeWindow(segment);
    const sacks = this.#parts.agreement.hasSack ? segment.options.sacks ?? [] : [];
    const ageMs = this.#parts.agreement.echoAgeMs(segment, nowMs);
    const echoMs = ageMs === undefined ? undefined : nowMs - ageMs;
    const { bytes, reorderingMs } = sender.acknowledge(segment.ack, sacks, nowMs, echoMs);
    this.#parts.deadlines.reordering = nowMs + reorderingMs;
    if (bytes > 0) {
      this.#retries.noteAcked();
      if (sender.isFinAcked) this.#finAcked(nowMs);
      this.#events.onProgress();
    }
    return true;
  }

  #takeWindow(segment: TcpSegment): void {
    const newer = seqDiff(segment.seq, this.#windowSeq);
    if (newer < 0 || (newer === 0 && seqDiff(segment.ack, this.#windowAck) < 0)) return;
    this.#parts.sender.window = this.#parts.agreement.peerWindow(segment);
    this.#windowSeq = segment.seq;
    this.#windowAck = segment.ack;
    if (this.#parts.sender.window > 0) this.#retries.noteWindow();
  }

  #takePayload(segment: TcpSegment, nowMs: number): void {
    if (!this.#isReceiving()) {
      this.#output.isAckDue = true;
      return;
    }
    if (this.#isOrphan && segment.payload.length > 0) return this.abort();
    const isFin = (segment.flags & FIN) !== 0;
    const hadGap = this.#parts.receiver.hasGap;
    const received = this.#parts.receiver.accept(segment.seq, segment.payload, isFin);
    const ageMs = this.#parts.agreement.echoAgeMs(segment, nowMs);
    if (ageMs !== undefined) this.#tuner.noteRtt(ageMs);
    this.#output.noteReceived(received, hadGap || isFin, nowMs);
    if (this.#parts.receiver.isFinished) this.#finReceived(nowMs);
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
      if (this.#isOrphan) this.#parts.deadlines.linger = nowMs + ORPHAN_MS;
    } else if (this.state === "closing") {
      this.#startTimeWait(nowMs);
    } else if (this.state === "lastAck") {
      this.#end(undefined);
    }
  }

  #startTimeWait(nowMs: number): void {
    this.state = "timeWait";
    this.#parts.sender.release();
    this.#parts.deadlines.clearSending();
    this.#parts.deadlines.keepalive = NEVER;
    this.#parts.deadlines.linger = nowMs + TIME_WAIT_MS;
  }

  #isReceiving(): boolean {
    return this.state === "established" || this.state === "finWait1" || this.state === "finWait2";
  }

  #establish(nowMs: number): void {
    this.state = "established";
    this.#retries.noteEstablished(nowMs);
    this.#events.onEstablished();
  }

  /** Sends what may go out, and sets the timer for what may come. */
  #flush(): void {
    if (this.state === "synSent" || this.state === "synReceived" || this.state === "closed") return;
    const nowMs = this.#parts.host.nowMs();
    this.#output.flush(nowMs);
    if (this.state !== "timeWait") this.#retries.update(nowMs);
    this.#arm();
  }

  #fire(nowMs: number): void {
    if (nowMs >= this.#parts.deadlines.linger) return this.#end(undefined);
    const isSynchronized = this.state !== "synSent" && this.state !== "synReceived";
    const verdict = this.#retries.run(isSynchronized, nowMs);
    if (verdict === "giveUp") return this.abort("timedOut");
    if (verdict === "sendSyn") this.#sendSyn();
    this.#flush();
    this.#arm();
  }

  #end(failure: TcpFailure | undefined): void {
    this.state = "closed";
    this.#output.isClosed = true;
    this.#parts.deadlines.stop();
    this.#parts.sender.release();
    // What the peer sent before it went away can still be read.
    if (failure === "aborted" || this.#isOrphan) this.#parts.receiver.release();
    this.#events.onClosed(failure);
  }

  #arm(): void {
    if (this.state !== "closed") this.#parts.deadlines.arm();
  }
}

function newSender(host: TcpHost, initialSeq: number, mss: number): TcpSender {
  return new TcpSender(seqAdd(initialSeq, 1), mss, host.pool);
}

function newReceiver(host: TcpHost, firstSeq: number): TcpReceiver {
  return new TcpReceiver(firstSeq, INITIAL_WINDOW, host.pool);
}
