// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Handles the frames that a peer sends, rule by rule of RFC 9113 §5 and §6.
 *
 * A fault of the peer ends a stream (RST_STREAM) where the RFC lets it and the connection (a thrown
 * {@linkcode ConnectionFault}) elsewhere. Everything a peer can send for nothing is counted.
 *
 * @module
 */

import { Flood, FloodGuard } from "./flood_guard.ts";
import {
  ConnectionFault,
  DEFAULT_FRAME_BYTES,
  Flag,
  Frame,
  getUint32,
  Http2Code,
  MAX_WINDOW_BYTES,
  protocolFault,
  Setting,
} from "./frames.ts";
import { type FrameReader, MORE_TO_PARSE } from "./frame_reader.ts";
import { HeaderBlocks } from "./header_blocks.ts";
import type { Session } from "./session.ts";

/** The receiving half of a {@linkcode Session}. */
export class FrameDispatch {
  readonly #session: Session;
  readonly #blocks: HeaderBlocks;
  /** Counts what costs the peer nothing. */
  readonly guard: FloodGuard;
  /** What the peer may still send over all streams. */
  recvWindow: number;
  #sawSettings = false;
  readonly #startMs = performance.now();
  readonly #onFrame = this.#frame.bind(this);

  constructor(session: Session) {
    const { limits } = session;
    this.#session = session;
    this.recvWindow = Math.max(limits.connectionWindowBytes, 65_535);
    this.guard = new FloodGuard([
      limits.maxResetsPer10s,
      limits.maxSettingsPer10s,
      limits.maxPingsPer10s,
      limits.maxIgnoredPer10s,
      limits.maxEmptyFramesPer10s,
      limits.maxSmallWindowUpdatesPer10s,
    ]);
    this.#blocks = new HeaderBlocks(session, this.guard);
  }

  /** Highest stream that the peer opened. */
  get lastPeerStreamId(): number {
    return this.#blocks.lastPeerStreamId;
  }

  /**
   * Handles whole frames that were read and returns whether there are more. Throws a
   * {@linkcode ConnectionFault}.
   */
  handle(reader: FrameReader, untilMs: number): boolean {
    const result = reader.parse(this.#session.limits.maxFrameBytes, untilMs, this.#onFrame);
    if (result >= 0) {
      throw new ConnectionFault(Http2Code.FrameSizeError, `A frame of ${result} bytes`);
    }
    return result === MORE_TO_PARSE;
  }

  /** Why the peer is too slow, or `undefined`. */
  overdue(nowMs: number, silentMs: number, hasPartialFrame: boolean): string | undefined {
    const { limits } = this.#session;
    if (!this.#sawSettings && nowMs - this.#startMs > limits.prefaceTimeoutMs) {
      return "The peer sends no settings";
    }
    const { openSinceMs } = this.#blocks;
    if (openSinceMs !== undefined && nowMs - openSinceMs > limits.requestStallMs) {
      return "The peer does not end a header block";
    }
    if (hasPartialFrame && silentMs > limits.requestStallMs) {
      return "The peer does not end a frame";
    }
    return undefined;
  }

  /** Excuses the peer's PINGs so far. */
  forgivePings(): void {
    this.guard.forgive(Flood.Ping);
  }

  #frame(
    type: number,
    flags: number,
    id: number,
    buffer: Uint8Array,
    start: number,
    end: number,
  ): void {
    // What follows in the same read is not looked at once the connection is over.
    if (this.#session.closed) return;
    const { openStreamId } = this.#blocks;
    if (openStreamId !== undefined && (type !== Frame.Continuation || id !== openStreamId)) {
      throw protocolFault("A frame inside of a header block");
    }
    if (!this.#sawSettings) {
      if (type !== Frame.Settings || (flags & Flag.Ack) !== 0) {
        throw protocolFault("The first frame is no SETTINGS");
      }
      this.#sawSettings = true;
    }
    switch (type) {
      case Frame.Data:
        return this.#data(flags, id, buffer, start, end);
      case Frame.Headers:
        return this.#blocks.headers(flags, id, buffer, start, end);
      case Frame.Priority:
        return this.#priority(id, buffer, start, end);
      case Frame.RstStream:
        return this.#rstStream(id, buffer, start, end);
      case Frame.Settings:
        return this.#settings(flags, id, buffer, start, end);
      case Frame.PushPromise:
        throw protocolFault("A PUSH_PROMISE frame");
      case Frame.Ping:
        return this.#ping(flags, id, buffer, start, end);
      case Frame.Goaway:
        return this.#goaway(id, buffer, start, end);
      case Frame.WindowUpdate:
        return this.#windowUpdate(id, buffer, start, end);
      case Frame.Continuation:
        return this.#blocks.continuation(flags, buffer, start, end);
      default:
        this.guard.count(Flood.Ignored);
    }
  }

  #data(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const session = this.#session;
    const length = end - start;
    if (id === 0) throw protocolFault("DATA on stream 0");
    if (length > this.recvWindow) {
      throw new ConnectionFault(
        Http2Code.FlowControlError,
        "More data than the connection's window",
      );
    }
    this.recvWindow -= length;
    session.consume(length);
    const stream = session.streams.get(id);
    if (stream === undefined) return this.#dataOnClosed(id);
    let from = start;
    let to = end;
    if ((flags & Flag.Padded) !== 0) {
      const padding = buffer[start] as number;
      if (length === 0 || padding >= length) throw protocolFault("Padding beyond a frame");
      from++;
      to -= padding;
    }
    if (stream.remoteEnded) return session.faultStream(stream, Http2Code.StreamClosed);
    if (length > stream.recvWindow) return session.faultStream(stream, Http2Code.FlowControlError);
    const endStream = (flags & Flag.EndStream) !== 0;
    if (to === from && !endStream) this.guard.count(Flood.Empty);
    stream.recvWindow -= length;
    stream.receivedBytes += to - from;
    // Padding is gone at once; the rest is given back by whoever takes it.
    if (to - from < length) stream.consume(length - (to - from));
    const { expectedBytes, receivedBytes } = stream;
    if (
      expectedBytes >= 0 &&
      (receivedBytes > expectedBytes || (endStream && receivedBytes < expectedBytes))
    ) return session.faultStream(stream, Http2Code.ProtocolError);
    if (endStream) stream.remoteEnded = true;
    stream.events.onData(buffer, from, to, endStream);
    if (endStream) stream.endRemote();
  }

  #dataOnClosed(id: number): void {
    this.#requireOpened(id, "DATA");
    if (!this.#session.isServer || this.#session.closedStreams.mayReceive(id)) return;
    this.guard.count(Flood.Reset);
    this.#session.writer.reset(id, Http2Code.StreamClosed);
  }

  #priority(id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id === 0) throw protocolFault("PRIORITY on stream 0");
    this.guard.count(Flood.Ignored);
    const isSelf = end - start === 5 && (getUint32(buffer, start) & 0x7fff_ffff) === id;
    if (end - start === 5 && !isSelf) return;
    const code = isSelf ? Http2Code.ProtocolError : Http2Code.FrameSizeError;
    const session = this.#session;
    const stream = session.streams.get(id);
    if (stream !== undefined) return session.faultStream(stream, code);
    this.guard.count(Flood.Reset);
    session.writer.reset(id, code);
  }

  #rstStream(id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id === 0) throw protocolFault("RST_STREAM on stream 0");
    if (end - start !== 4) throw new ConnectionFault(Http2Code.FrameSizeError, "A bad RST_STREAM");
    this.#requireOpened(id, "RST_STREAM");
    const session = this.#session;
    if (session.isServer) this.guard.count(Flood.Reset);
    const stream = session.streams.get(id);
    if (stream === undefined) {
      session.closedStreams.notePeerReset(id);
      return;
    }
    session.forget(stream, false);
    stream.release();
    stream.events.onReset(getUint32(buffer, start));
  }

  #settings(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const session = this.#session;
    if (id !== 0) throw protocolFault("SETTINGS on a stream");
    const isAck = (flags & Flag.Ack) !== 0;
    if ((end - start) % 6 !== 0 || (isAck && end > start)) {
      throw new ConnectionFault(Http2Code.FrameSizeError, "A SETTINGS frame of a wrong length");
    }
    this.guard.count(Flood.Settings);
    if (isAck) {
      session.settingsAcked = true;
      return;
    }
    // Ahead of the data that a larger window lets out, so that the peer knows what let it.
    session.writer.settingsAck();
    for (let at = start; at < end; at += 6) {
      const key = ((buffer[at] as number) << 8) | (buffer[at + 1] as number);
      this.#setting(key, getUint32(buffer, at + 2));
    }
    session.events.onRoom?.();
  }

  #setting(key: number, value: number): void {
    const session = this.#session;
    switch (key) {
      case Setting.HeaderTableSize:
        return session.writer.setHeaderTableLimit(value);
      case Setting.EnablePush:
        if (value > 1) throw protocolFault(`ENABLE_PUSH of ${value}`);
        return;
      case Setting.MaxConcurrentStreams:
        session.peerMaxStreams = value;
        return;
      case Setting.InitialWindowSize: {
        if (value > MAX_WINDOW_BYTES) {
          throw new ConnectionFault(Http2Code.FlowControlError, `A window of ${value}`);
        }
        const change = value - session.peerInitialWindow;
        session.peerInitialWindow = value;
        for (const stream of session.streams.values()) {
          if (!stream.openWindow(change)) {
            throw new ConnectionFault(Http2Code.FlowControlError, "A window beyond 2^31-1");
          }
        }
        return;
      }
      case Setting.MaxFrameSize:
        if (value < DEFAULT_FRAME_BYTES || value > 0xff_ffff) {
          throw protocolFault(`MAX_FRAME_SIZE of ${value}`);
        }
        return;
    }
  }

  #ping(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id !== 0) throw protocolFault("PING on a stream");
    if (end - start !== 8) throw new ConnectionFault(Http2Code.FrameSizeError, "A bad PING");
    this.guard.count(Flood.Ping);
    if ((flags & Flag.Ack) !== 0) return this.#session.onPong(getUint32(buffer, start + 4));
    this.#session.writer.pong(buffer.subarray(start, end));
  }

  #goaway(id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id !== 0) throw protocolFault("GOAWAY on a stream");
    if (end - start < 8) throw new ConnectionFault(Http2Code.FrameSizeError, "A short GOAWAY");
    this.guard.count(Flood.Ignored);
    const text = new TextDecoder().decode(buffer.subarray(start + 8, Math.min(end, start + 264)));
    const lastStreamId = getUint32(buffer, start) & 0x7fff_ffff;
    this.#session.events.onGoaway?.(lastStreamId, getUint32(buffer, start + 4), text);
  }

  #windowUpdate(id: number, buffer: Uint8Array, start: number, end: number): void {
    const session = this.#session;
    if (end - start !== 4) {
      throw new ConnectionFault(Http2Code.FrameSizeError, "A bad WINDOW_UPDATE");
    }
    const bytes = getUint32(buffer, start) & 0x7fff_ffff;
    if (bytes < 1024) this.guard.count(Flood.SmallWindow);
    if (id === 0) {
      if (bytes === 0) throw protocolFault("A WINDOW_UPDATE of 0");
      session.sendWindow += bytes;
      if (session.sendWindow > MAX_WINDOW_BYTES) {
        throw new ConnectionFault(Http2Code.FlowControlError, "A window beyond 2^31-1");
      }
      return session.pump();
    }
    this.#requireOpened(id, "WINDOW_UPDATE");
    const stream = session.streams.get(id);
    if (stream === undefined) return;
    if (bytes === 0) return session.faultStream(stream, Http2Code.ProtocolError);
    if (!stream.openWindow(bytes)) session.faultStream(stream, Http2Code.FlowControlError);
  }

  #requireOpened(id: number, what: string): void {
    const session = this.#session;
    const isIdle = session.isServer
      ? id > this.lastPeerStreamId || id % 2 === 0
      : session.isUnopened(id);
    if (isIdle) throw protocolFault(`${what} on idle stream ${id}`);
  }
}
