// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One HTTP/2 connection (RFC 9113), as server or as client.
 *
 * Everything that one read brought is handled in one go, and what that makes to be sent leaves in
 * one write. While the peer does not take what is written, nothing more is read from it.
 *
 * @module
 */

import { BufferAccount, type BufferBudget } from "./buffer_account.ts";
import { trimBuffers } from "./buffers.ts";
import { ClosedStreams } from "./closed_streams.ts";
import { Flood } from "./flood_guard.ts";
import { ConnectionFault, DEFAULT_WINDOW_BYTES, Http2Code, Setting } from "./frames.ts";
import { FrameDispatch } from "./frame_dispatch.ts";
import type { FrameReader } from "./frame_reader.ts";
import { FrameWriter } from "./frame_writer.ts";
import { H2Stream, type StreamEvents } from "./h2_stream.ts";
import type { HeaderBlock } from "./hpack_decoder.ts";
import type { HeaderTemplate } from "./hpack_encoder.ts";
import type { Limits } from "./limits.ts";
import { Outbox } from "./outbox.ts";
import { SendLine } from "./send_line.ts";
import type { ByteStream } from "./stream.ts";
import { coarseWheel, fineWheel, type WheelTimer } from "./timer_wheel.ts";
import { lineTurn, Streak } from "./turns.ts";
import { WindDown } from "./wind_down.ts";

/** What the owner of a session learns from it. */
export interface SessionEvents {
  /** The peer opened a stream (server only). The block is only valid during the call. */
  onStream?(stream: H2Stream, block: HeaderBlock, endStream: boolean): void;
  /** The peer's settings arrived or changed, or a stream ended: there may be room for another. */
  onRoom?(): void;
  /** The peer ends the connection; streams above `lastStreamId` were not processed. */
  onGoaway?(lastStreamId: number, code: number, text: string): void;
  /** Something of ours failed, which ends the connection. */
  onFault?(error: unknown): void;
  /** The connection is over; all streams have been told. */
  onClosed?(error: unknown): void;
}

/** Options of {@linkcode Session}. */
export interface SessionOptions {
  readonly stream: ByteStream;
  readonly reader: FrameReader;
  readonly isServer: boolean;
  readonly limits: Limits;
  readonly events: SessionEvents;
  readonly budget: BufferBudget;
}

const NO_EVENTS: StreamEvents = { onHeaders: () => {}, onData: () => {}, onReset: () => {} };
const KEEPALIVE_PING = 0xba7;
const DRAIN_PING = 0xd7a;

/** One connection. {@linkcode Session.run} drives it until it is over. */
export class Session {
  readonly isServer: boolean;
  readonly limits: Limits;
  readonly events: SessionEvents;
  readonly outbox: Outbox;
  readonly writer: FrameWriter;
  readonly account: BufferAccount;
  readonly closedStreams = new ClosedStreams();
  readonly streams = new Map<number, H2Stream>();
  readonly #reader: FrameReader;
  readonly #dispatch: FrameDispatch;
  /** What the peer still takes over all streams. */
  sendWindow = DEFAULT_WINDOW_BYTES;
  /** The peer's window for a new stream. */
  peerInitialWindow = DEFAULT_WINDOW_BYTES;
  /** How many streams of ours the peer allows. */
  peerMaxStreams = Infinity;
  /** Whether the peer has acknowledged our settings. */
  settingsAcked = false;
  /** Whether the connection takes no more streams. */
  draining = false;
  closed = false;
  #recvOwed = 0;
  #nextStreamId = 1;
  readonly #line = new SendLine(this);
  #roomWaiter: (() => void) | undefined;
  /** When bytes came last, in milliseconds of `performance.now()`. */
  lastReadMs = performance.now();
  #pingSentMs = 0;
  #idleSinceMs = performance.now();
  #check: WheelTimer | undefined;
  #drainLastId = -1;
  readonly #windDown: WindDown;
  /** Whether more of what was read waits to be handled. */
  #hasMore = false;
  readonly #streak = new Streak();

  constructor(options: SessionOptions) {
    this.isServer = options.isServer;
    this.limits = options.limits;
    this.events = options.events;
    this.#reader = options.reader;
    this.account = new BufferAccount(options.limits, options.budget);
    this.outbox = new Outbox(options.stream, {
      onWritten: () => this.protect(this.#onWritten),
      onWriteFailed: (error) => this.close(error),
    });
    this.#windDown = new WindDown(options.stream, this.outbox);
    this.writer = new FrameWriter(this.outbox, options.limits.headerTableBytes);
    this.#dispatch = new FrameDispatch(this);
    this.#sendPreface();
  }

  /** Reads and handles frames until the connection is over. Never rejects. */
  async run(): Promise<void> {
    fineWheel.retain();
    this.#scheduleCheck();
    let failure: unknown;
    try {
      for (;;) {
        if (!this.closed) this.protect(this.#handleRead);
        if (this.closed && !this.#windDown.discard(this.#reader)) break;
        const isFull = this.outbox.pendingBytes > 2 * this.limits.writeHighWaterBytes;
        if (isFull && !this.closed) await this.#room();
        if (this.#hasMore && !this.closed) {
          const turn = this.#streak.turnAt(performance.now());
          if (turn !== undefined) await turn;
          continue;
        }
        const askedMs = performance.now();
        const bytes = await this.#reader.read();
        if (bytes === null) break;
        this.lastReadMs = performance.now();
        const turn = this.#streak.turn(bytes, askedMs, this.lastReadMs);
        if (turn !== undefined) await turn;
      }
    } catch (error) {
      // Reading failed: the peer is gone.
      failure = error;
    }
    const turn = lineTurn();
    if (turn !== undefined) await turn;
    this.close(failure);
    this.#windDown.stop();
    this.outbox.close();
    this.#reader.release();
    // A connection counts until its socket is really gone.
    await this.outbox.settled();
    fineWheel.release();
  }

  /** Runs a piece of work whose failure may end this connection, but nothing else. */
  protect(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof ConnectionFault) return this.close(error);
      this.events.onFault?.(error);
      this.close(new ConnectionFault(Http2Code.InternalError, "internal error"));
    }
  }

  /** Whether more data may be put into the connection's buffer. */
  get hasRoom(): boolean {
    return this.outbox.pendingBytes < this.limits.writeHighWaterBytes;
  }

  /** Opens a stream (client only) and sends its headers; `undefined` when there is no room for it. */
  open(
    events: StreamEvents,
    template: HeaderTemplate,
    fields: readonly string[] | undefined,
  ): H2Stream | undefined {
    if (this.closed || this.draining || this.streams.size >= this.peerMaxStreams) return undefined;
    if (this.#nextStreamId > 0x7fff_fff0) {
      this.drain();
      return undefined;
    }
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = this.#addStream(id, events);
    this.writer.headers(id, template, fields, false);
    return stream;
  }

  /** Takes in a stream that the peer opened. */
  accept(id: number): H2Stream {
    return this.#addStream(id, NO_EVENTS);
  }

  /** Ends a stream on which the peer broke a rule; that costs as much as a reset of its own. */
  faultStream(stream: H2Stream, code: Http2Code): void {
    this.#dispatch.guard.count(Flood.Reset);
    stream.reset(code);
    stream.events.onReset(code, new Error("The peer broke a rule of HTTP/2"));
  }

  /** Whether `id` is one that {@linkcode open} has not given out yet. */
  isUnopened(id: number): boolean {
    return id >= this.#nextStreamId || id % 2 === 0;
  }

  /** Drops a stream that is over. */
  forget(stream: H2Stream, byReset: boolean): void {
    if (!this.streams.delete(stream.id)) return;
    this.closedStreams.add(stream.id, byReset);
    if (this.streams.size === 0) this.#idleSinceMs = performance.now();
    if (this.draining && this.streams.size === 0) this.#finishDrain();
    else this.events.onRoom?.();
  }

  /** Remembers that data went out, which excuses a peer's PING. */
  noteSent(): void {
    this.#dispatch.forgivePings();
  }

  /** Puts a stream with data into the line and sends what the windows allow. */
  lineUp(stream: H2Stream): void {
    this.#line.add(stream);
    this.#line.pump();
  }

  /** Sends what the windows allow. */
  pump(): void {
    this.#line.pump();
  }

  /** Notes that the peer keeps a window so small that a frame for it is not worth its while. */
  noteSmallWindow(): void {
    this.#streak.demote(performance.now());
  }

  /** Gives received bytes back to the peer's connection window, in large steps. */
  consume(bytes: number): void {
    this.#recvOwed += bytes;
    if (this.#recvOwed * 2 < this.limits.connectionWindowBytes) return;
    this.writer.windowUpdate(0, this.#recvOwed);
    this.#dispatch.recvWindow += this.#recvOwed;
    this.#recvOwed = 0;
  }

  /** Handles the answer to a PING of ours. */
  onPong(kind: number): void {
    // The peer has seen the first GOAWAY, so every stream that it opened before is here by now.
    if (kind === DRAIN_PING && this.#drainLastId < 0) {
      this.#drainLastId = this.#dispatch.lastPeerStreamId;
      this.writer.goaway(this.#drainLastId, Http2Code.NoError, "");
      if (this.streams.size === 0) this.#finishDrain();
    }
  }

  /**
   * Lets streams that are open come to their end and takes no more. The connection closes with the
   * last of them.
   */
  drain(): void {
    if (this.closed || this.draining) return;
    this.draining = true;
    if (!this.isServer) {
      if (this.streams.size === 0) this.#finishDrain();
      return;
    }
    this.writer.goaway(0x7fff_ffff, Http2Code.NoError, "");
    this.writer.ping(DRAIN_PING);
  }

  /** Whether a stream that the peer opens has to be ignored. */
  refuses(id: number): boolean {
    return this.#drainLastId >= 0 && id > this.#drainLastId;
  }

  /** Ends the connection; a {@linkcode ConnectionFault} is sent to the peer as GOAWAY. */
  close(error?: unknown): void {
    if (this.closed) return;
    this.closed = this.draining = true;
    this.#check?.cancel();
    this.#roomWaiter?.();
    if (error instanceof ConnectionFault) {
      this.writer.goaway(this.#dispatch.lastPeerStreamId, error.code, error.message);
      this.#windDown.start();
    }
    let reason = error;
    for (const stream of [...this.streams.values()]) {
      this.streams.delete(stream.id);
      stream.release();
      reason ??= new Error("The connection was closed");
      stream.events.onReset(Http2Code.Cancel, reason);
    }
    this.#line.clear();
    if (!(error instanceof ConnectionFault)) this.outbox.close();
    this.events.onClosed?.(error);
  }

  #addStream(id: number, events: StreamEvents): H2Stream {
    const window = this.settingsAcked
      ? this.limits.streamWindowBytes
      : Math.max(this.limits.streamWindowBytes, DEFAULT_WINDOW_BYTES);
    const stream = new H2Stream(this, id, this.peerInitialWindow, window, events);
    this.streams.set(id, stream);
    return stream;
  }

  readonly #handleRead = (): void => {
    this.outbox.cork();
    try {
      const untilMs = this.#streak.untilMs(performance.now());
      this.#hasMore = this.#dispatch.handle(this.#reader, untilMs);
    } finally {
      this.outbox.uncork();
    }
  };

  readonly #onWritten = (): void => {
    this.pump();
    if (this.outbox.pendingBytes <= 2 * this.limits.writeHighWaterBytes) this.#roomWaiter?.();
  };

  async #room(): Promise<void> {
    await new Promise<void>((resolve) => this.#roomWaiter = resolve);
    this.#roomWaiter = undefined;
  }

  #sendPreface(): void {
    const { limits } = this;
    if (!this.isServer) this.writer.preface();
    this.writer.settings([
      [Setting.HeaderTableSize, limits.headerTableBytes],
      [Setting.InitialWindowSize, limits.streamWindowBytes],
      [Setting.MaxHeaderListSize, limits.maxHeaderListBytes],
      this.isServer
        ? [Setting.MaxConcurrentStreams, limits.maxConcurrentStreams]
        : [Setting.EnablePush, 0],
    ]);
    const extra = limits.connectionWindowBytes - DEFAULT_WINDOW_BYTES;
    if (extra > 0) this.writer.windowUpdate(0, extra);
  }

  #finishDrain(): void {
    if (this.closed || (this.isServer && this.#drainLastId < 0)) return;
    if (!this.isServer) this.writer.goaway(0, Http2Code.NoError, "");
    this.closed = true;
    this.#check?.cancel();
    this.#roomWaiter?.();
    this.#windDown.start();
    this.events.onClosed?.(undefined);
  }

  #scheduleCheck(): void {
    const { prefaceTimeoutMs, writeStallMs, keepaliveMs, keepaliveTimeoutMs, idleMs } = this.limits;
    const times = [prefaceTimeoutMs, writeStallMs, keepaliveMs, keepaliveTimeoutMs, idleMs];
    const period = Math.min(5000, Math.max(100, Math.min(...times.filter((ms) => ms > 0)) / 4));
    const check = (): void => {
      this.protect(() => this.#runChecks(performance.now()));
      if (!this.closed) this.#check = coarseWheel.schedule(period, check);
    };
    if (!this.closed) this.#check = coarseWheel.schedule(period, check);
  }

  /** Servers of this field end the connection of a client that probes without a call. */
  get #mayProbe(): boolean {
    return this.isServer || this.streams.size > 0;
  }

  #runChecks(nowMs: number): void {
    trimBuffers(nowMs);
    const { limits, outbox } = this;
    const silentMs = nowMs - this.lastReadMs;
    if (outbox.writingSinceMs > 0 && nowMs - outbox.writingSinceMs > limits.writeStallMs) {
      return this.close(new Error("The peer takes no bytes"));
    }
    const reason = this.#dispatch.overdue(nowMs, silentMs, this.#reader.unreadBytes > 0);
    if (reason !== undefined) return this.close(new Error(reason));
    if (this.#pingSentMs > 0 && this.lastReadMs < this.#pingSentMs) {
      if (nowMs - this.#pingSentMs > limits.keepaliveTimeoutMs) {
        return this.close(new Error("The peer does not answer"));
      }
    } else if (limits.keepaliveMs > 0 && silentMs > limits.keepaliveMs && this.#mayProbe) {
      this.#pingSentMs = nowMs;
      this.writer.ping(KEEPALIVE_PING);
    }
    if (this.streams.size === 0) {
      if (limits.idleMs > 0 && nowMs - this.#idleSinceMs > limits.idleMs) this.drain();
      return;
    }
    if (this.#line.isStalled(nowMs)) return this.close(new Error("The peer's window stays closed"));
    for (const stream of [...this.streams.values()]) {
      if (stream.blockedSinceMs > 0 && nowMs - stream.blockedSinceMs > limits.windowStallMs) {
        stream.reset(Http2Code.Cancel);
        stream.events.onReset(Http2Code.Cancel, new Error("The peer's window stays closed"));
      } else stream.events.onCheck?.(nowMs);
    }
  }
}
