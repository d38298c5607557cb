// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One HTTP/2 stream: its states (RFC 9113 §5.1), its flow-control windows and its send queue.
 *
 * Data goes straight into the connection's buffer while all windows allow it. Otherwise it waits
 * here, by reference, and whoever sends waits for {@linkcode H2Stream.ready}.
 *
 * @module
 */

import { DEFAULT_FRAME_BYTES, Http2Code, MAX_WINDOW_BYTES, putUint32 } from "./frames.ts";
import type { HeaderBlock } from "./hpack_decoder.ts";
import type { HeaderTemplate } from "./hpack_encoder.ts";
import type { Session } from "./session.ts";
import { SmallWindow } from "./small_window.ts";

/** What the user of a stream learns from it. Nothing here may throw. */
export interface StreamEvents {
  /** A reply's headers or either side's trailers. The block is only valid during the call. */
  onHeaders(block: HeaderBlock, endStream: boolean): void;
  /**
   * Bytes of the body, only valid during the call. The receiver gives the window back by
   * {@linkcode H2Stream.consume}.
   */
  onData(buffer: Uint8Array, start: number, end: number, endStream: boolean): void;
  /** The stream ended before its time: by the peer, by a fault, or with its connection. */
  onReset(code: number, error?: unknown): void;
  /** Called every few seconds, to find what makes no progress. */
  onCheck?(nowMs: number): void;
}

/** A message or body that waits to be sent; `flag` is the gRPC prefix's first byte, -1 without prefix. */
interface Piece {
  readonly flag: number;
  readonly parts: readonly Uint8Array[];
  /** Length of all parts. */
  readonly size: number;
  /** Next byte to send; negative while the prefix is not sent yet. */
  at: number;
  /** The part that it is in, and where in it. */
  part: number;
  partAt: number;
}

interface EndOfStream {
  readonly template: HeaderTemplate | undefined;
  readonly fields: readonly string[] | undefined;
}

const PREFIX_BYTES = 5;

/** One stream of a {@linkcode Session}. */
export class H2Stream {
  readonly id: number;
  readonly #session: Session;
  events: StreamEvents;
  sendWindow: number;
  recvWindow: number;
  localEnded = false;
  remoteEnded = false;
  closed = false;
  /** Body length that the peer announced, -1 without. */
  expectedBytes = -1;
  receivedBytes = 0;
  /** Whether it stands in the session's line of streams that can send. */
  inLine = false;
  /** Since when its data waits for the peer's window, 0 while none does. */
  blockedSinceMs = 0;
  #owedBytes = 0;
  #smallWindow: SmallWindow | undefined;
  #queue: Piece[] | undefined;
  #end: EndOfStream | undefined;
  #ready: { promise: Promise<void>; resolve: () => void } | undefined;

  constructor(
    session: Session,
    id: number,
    sendWindow: number,
    recvWindow: number,
    events: StreamEvents,
  ) {
    this.#session = session;
    this.id = id;
    this.sendWindow = sendWindow;
    this.recvWindow = recvWindow;
    this.events = events;
  }

  /** Whether data waits to be sent. */
  get hasQueue(): boolean {
    return this.#queue !== undefined;
  }

  /** How much one frame could take of its queue, whatever the connection's window. */
  get frameBytes(): number {
    const piece = this.#queue?.[0];
    if (piece === undefined) return 0;
    return Math.min(DEFAULT_FRAME_BYTES, this.sendWindow, piece.size - piece.at);
  }

  /** The session that it belongs to. */
  get session(): Session {
    return this.#session;
  }

  /** Sends headers that do not end the stream; before any data. */
  sendHeaders(template: HeaderTemplate | undefined, fields?: readonly string[]): void {
    if (this.closed || this.localEnded) return;
    this.#session.noteSent();
    this.#session.writer.headers(this.id, template, fields, false);
  }

  /** Sends headers that end the stream, after all data that waits. */
  sendTrailers(template: HeaderTemplate | undefined, fields?: readonly string[]): void {
    if (this.closed || this.localEnded) return;
    if (this.#queue !== undefined) {
      this.#end = { template, fields };
      return;
    }
    this.#session.noteSent();
    this.#session.writer.headers(this.id, template, fields, true);
    this.#endLocal();
  }

  /** Ends the stream without trailers, after all data that waits. */
  sendEnd(): void {
    if (this.closed || this.localEnded) return;
    if (this.#queue !== undefined) {
      this.#end = { template: undefined, fields: undefined };
      return;
    }
    this.#session.writer.endOfStream(this.id);
    this.#endLocal();
  }

  /**
   * Sends one gRPC message (`flag` 0 or 1) or plain body bytes (`flag` -1). The bytes must not change
   * afterwards. When {@linkcode ready} then gives a promise, the sender should wait for it.
   */
  send(flag: number, bytes: Uint8Array, end = false): void {
    if (this.closed || this.localEnded || this.#end !== undefined) return;
    if (this.#fits(flag, bytes.length)) {
      const at = this.#beginNow(flag, bytes.length);
      this.#session.outbox.buffer.set(bytes, at);
      this.#endNow(flag, bytes.length, at + bytes.length, end);
      return;
    }
    if (end) this.#end = { template: undefined, fields: undefined };
    this.#enqueue(flag, [bytes], bytes.length);
  }

  /** Sends one gRPC message that comes in pieces of `size` bytes in all; see {@linkcode send}. */
  sendParts(flag: number, parts: readonly Uint8Array[], size: number): void {
    if (this.closed || this.localEnded || this.#end !== undefined) return;
    if (!this.#fits(flag, size)) return this.#enqueue(flag, parts, size);
    let at = this.#beginNow(flag, size);
    const { buffer } = this.#session.outbox;
    for (const part of parts) {
      buffer.set(part, at);
      at += part.length;
    }
    this.#endNow(flag, size, at, false);
  }

  /** A promise that settles when what was sent has left the queue, `undefined` when it has. */
  ready(): Promise<void> | undefined {
    if (this.#queue === undefined) return undefined;
    if (this.#ready === undefined) {
      let resolve = (): void => {};
      const promise = new Promise<void>((settle) => resolve = settle);
      this.#ready = { promise, resolve };
    }
    return this.#ready.promise;
  }

  /**
   * Moves at most one frame of the queue into the connection's buffer. Returns whether more could
   * follow at once; `false` means that the queue is empty or the stream's window is closed.
   */
  sendFrame(): boolean {
    const queue = this.#queue;
    if (queue === undefined || this.closed) return false;
    const session = this.#session;
    const allowed = Math.min(DEFAULT_FRAME_BYTES, this.sendWindow, session.sendWindow);
    const piece = queue[0] as Piece;
    const left = piece.size - piece.at;
    if (allowed <= 0 && left > 0) {
      if (this.blockedSinceMs === 0) this.blockedSinceMs = performance.now();
      return false;
    }
    if (this.sendWindow < left && !this.#isWorthwhile()) return false;
    const count = Math.min(left, allowed);
    const isLast = count === left && queue.length === 1;
    const ends = isLast && this.#end !== undefined && this.#end.fields === undefined &&
      this.#end.template === undefined;
    this.#putFrame(piece, count, ends);
    this.blockedSinceMs = 0;
    if (count === left) queue.shift();
    if (!isLast) return true;
    this.#queue = undefined;
    if (ends) this.#endLocal();
    else if (this.#end !== undefined) this.sendTrailers(this.#end.template, this.#end.fields);
    this.#settleReady();
    return false;
  }

  /** Opens the send window by a WINDOW_UPDATE or a changed setting. Returns `false` on overflow. */
  openWindow(bytes: number): boolean {
    this.sendWindow += bytes;
    if (this.sendWindow > MAX_WINDOW_BYTES) return false;
    if (this.#queue === undefined || this.inLine || this.sendWindow <= 0) return true;
    if (!this.#smallWindow?.isPatient(this.sendWindow)) this.#session.lineUp(this);
    return true;
  }

  /** Gives received bytes back to the peer's window, in large steps. */
  consume(bytes: number): void {
    if (this.remoteEnded || this.closed) return;
    this.#owedBytes += bytes;
    if (this.#owedBytes * 2 < this.#session.limits.streamWindowBytes) return;
    this.recvWindow += this.#owedBytes;
    this.#session.writer.windowUpdate(this.id, this.#owedBytes);
    this.#owedBytes = 0;
  }

  /** Ends the stream with RST_STREAM; its user is not told. */
  reset(code: Http2Code): void {
    if (this.closed) return;
    this.#session.writer.reset(this.id, code);
    this.#session.forget(this, true);
    this.release();
  }

  /** Marks the end of what the peer sends. */
  endRemote(): void {
    this.remoteEnded = true;
    if (this.localEnded) this.#finish();
  }

  /** Lets go of everything; called when the session drops it. */
  release(): void {
    this.closed = true;
    for (const { size, at } of this.#queue ?? []) {
      this.#session.account.noteUnsent(Math.max(0, at) - size);
    }
    this.#queue = undefined;
    this.#end = undefined;
    this.#smallWindow?.stop();
    this.#settleReady();
  }

  /** Whether so much goes into one frame that all windows allow at once. */
  #fits(flag: number, size: number): boolean {
    const total = size + (flag < 0 ? 0 : PREFIX_BYTES);
    const session = this.#session;
    return this.#queue === undefined && total <= DEFAULT_FRAME_BYTES && total <= this.sendWindow &&
      total <= session.sendWindow && session.hasRoom;
  }

  /** Begins to send what {@linkcode #fits}; returns the offset for it in the outbox's buffer. */
  #beginNow(flag: number, size: number): number {
    const { writer, outbox } = this.#session;
    if (flag < 0) return writer.beginData(this.id, size);
    const at = writer.beginData(this.id, PREFIX_BYTES + size);
    outbox.buffer[at] = flag;
    return putUint32(outbox.buffer, at + 1, size);
  }

  #endNow(flag: number, size: number, at: number, end: boolean): void {
    const session = this.#session;
    const total = size + (flag < 0 ? 0 : PREFIX_BYTES);
    session.writer.endData(at, end);
    this.sendWindow -= total;
    session.sendWindow -= total;
    session.noteSent();
    if (end) this.#endLocal();
  }

  #enqueue(flag: number, parts: readonly Uint8Array[], size: number): void {
    const piece = { flag, parts, size, at: flag < 0 ? 0 : -PREFIX_BYTES, part: 0, partAt: 0 };
    this.#session.account.noteUnsent(size);
    if (this.#queue === undefined) this.#queue = [piece];
    else this.#queue.push(piece);
    this.#session.lineUp(this);
  }

  #isWorthwhile(): boolean {
    this.#smallWindow ??= new SmallWindow(this.#session, () => this.#session.lineUp(this));
    return this.#smallWindow.isWorthwhile(this.sendWindow);
  }

  #endLocal(): void {
    this.localEnded = true;
    if (this.remoteEnded) this.#finish();
    else if (this.#session.isServer) {
      // The reply is complete, so the rest of the request is not wanted (RFC 9113 §8.1).
      this.reset(Http2Code.NoError);
    }
  }

  #finish(): void {
    if (this.closed) return;
    this.#session.forget(this, false);
    this.release();
  }

  #settleReady(): void {
    this.#ready?.resolve();
    this.#ready = undefined;
  }

  #putFrame(piece: Piece, count: number, ends: boolean): void {
    const session = this.#session;
    let to = session.writer.beginData(this.id, count);
    const { buffer } = session.outbox;
    let left = count;
    while (piece.at < 0 && left > 0) {
      // The prefix byte by byte, because a window may end inside of it.
      const index = piece.at + PREFIX_BYTES;
      buffer[to++] = index === 0 ? piece.flag : piece.size >>> (8 * (PREFIX_BYTES - 1 - index));
      piece.at++;
      left--;
    }
    if (left > 0) copyParts(piece, buffer, to, left);
    piece.at += left;
    session.account.noteUnsent(-left);
    session.writer.endData(to + left, ends);
    this.sendWindow -= count;
    session.sendWindow -= count;
    session.noteSent();
  }
}

/** Copies the next `count` bytes of a piece. */
function copyParts(piece: Piece, buffer: Uint8Array, at: number, count: number): void {
  for (let left = count; left > 0;) {
    const part = piece.parts[piece.part] as Uint8Array;
    const taken = Math.min(left, part.length - piece.partAt);
    const isWhole = taken === part.length;
    buffer.set(isWhole ? part : part.subarray(piece.partAt, piece.partAt + taken), at);
    at += taken;
    left -= taken;
    piece.partAt += taken;
    if (piece.partAt < part.length) return;
    piece.part++;
    piece.partAt = 0;
  }
}
