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
  Setting,
} from "./frames.ts";
import type { FrameReader } from "./frame_reader.ts";
import type { H2Stream } from "./h2_stream.ts";
import { type HeaderBlock, HpackDecoder, Known } from "./hpack_decoder.ts";
import type { Session } from "./session.ts";

/** A header block whose CONTINUATION frames are still to come. */
interface OpenBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly selfDependent: boolean;
  bytes: Uint8Array;
  frames: number;
}

// Frames may be under way on a stream that just ended; so many of those are remembered.
const REMEMBERED_STREAMS = 128;

/** The receiving half of a {@linkcode Session}. */
export class FrameDispatch {
  readonly #session: Session;
  readonly #decoder: HpackDecoder;
  readonly #guard: FloodGuard;
  /** Highest stream that the peer opened. */
  lastPeerStreamId = 0;
  /** What the peer may still send over all streams. */
  recvWindow: number;
  #sawSettings = false;
  #open: OpenBlock | undefined;
  #openSinceMs = 0;
  readonly #startMs = performance.now();
  #resetIds: number[] | undefined;
  #finishedIds: number[] | undefined;
  readonly #onFrame = this.#frame.bind(this);

  constructor(session: Session) {
    const { limits } = session;
    this.#session = session;
    this.recvWindow = Math.max(limits.connectionWindowBytes, 65_535);
    this.#decoder = new HpackDecoder(limits.headerTableBytes, limits.maxHeaderListBytes);
    this.#guard = new FloodGuard([
      limits.maxResetsPer10s,
      limits.maxSettingsPer10s,
      limits.maxPingsPer10s,
      limits.maxIgnoredPer10s,
      limits.maxEmptyFramesPer10s,
      limits.maxSmallWindowUpdatesPer10s,
    ]);
  }

  /** Handles all whole frames that were read. Throws a {@linkcode ConnectionFault}. */
  handle(reader: FrameReader): void {
    const tooLong = reader.parse(this.#session.limits.maxFrameBytes, this.#onFrame);
    if (tooLong >= 0) {
      throw new ConnectionFault(Http2Code.FrameSizeError, `A frame of ${tooLong} bytes`);
    }
  }

  /** Why the peer is too slow, or `undefined`. */
  overdue(nowMs: number, silentMs: number, hasPartialFrame: boolean): string | undefined {
    const { limits } = this.#session;
    if (!this.#sawSettings && nowMs - this.#startMs > limits.prefaceTimeoutMs) {
      return "The peer sends no settings";
    }
    if (this.#open !== undefined && nowMs - this.#openSinceMs > limits.requestStallMs) {
      return "The peer does not end a header block";
    }
    if (hasPartialFrame && silentMs > limits.requestStallMs) {
      return "The peer does not end a frame";
    }
    return undefined;
  }

  /** Remembers a stream that is over. */
  noteClosed(id: number, byReset: boolean): void {
    const list = byReset ? this.#resetIds ??= [] : this.#finishedIds ??= [];
    list.push(id);
    if (list.length > REMEMBERED_STREAMS) list.splice(0, REMEMBERED_STREAMS / 2);
  }

  /** Excuses the peer's PINGs so far. */
  forgivePings(): void {
    this.#guard.forgive(Flood.Ping);
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
    if (this.#open !== undefined && (type !== Frame.Continuation || id !== this.#open.streamId)) {
      throw protocol("A frame inside of a header block");
    }
    if (!this.#sawSettings) {
      if (type !== Frame.Settings || (flags & Flag.Ack) !== 0) {
        throw protocol("The first frame is no SETTINGS");
      }
      this.#sawSettings = true;
    }
    switch (type) {
      case Frame.Data:
        return this.#data(flags, id, buffer, start, end);
      case Frame.Headers:
        return this.#headers(flags, id, buffer, start, end);
      case Frame.Priority:
        return this.#priority(id, buffer, start, end);
      case Frame.RstStream:
        return this.#rstStream(id, buffer, start, end);
      case Frame.Settings:
        return this.#settings(flags, id, buffer, start, end);
      case Frame.PushPromise:
        throw protocol("A PUSH_PROMISE frame");
      case Frame.Ping:
        return this.#ping(flags, id, buffer, start, end);
      case Frame.Goaway:
        return this.#goaway(id, buffer, start, end);
      case Frame.WindowUpdate:
        return this.#windowUpdate(id, buffer, start, end);
      case Frame.Continuation:
        return this.#continuation(flags, buffer, start, end);
      default:
        this.#guard.count(Flood.Ignored);
    }
  }

  #data(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const session = this.#session;
    const length = end - start;
    if (id === 0) throw protocol("DATA on stream 0");
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
      if (length === 0 || padding >= length) throw protocol("Padding beyond a frame");
      from++;
      to -= padding;
    }
    if (stream.remoteEnded) return this.#streamFault(stream, Http2Code.StreamClosed);
    if (length > stream.recvWindow) return this.#streamFault(stream, Http2Code.FlowControlError);
    const endStream = (flags & Flag.EndStream) !== 0;
    if (to === from && !endStream) this.#guard.count(Flood.Empty);
    stream.recvWindow -= length;
    stream.receivedBytes += to - from;
    // Padding is gone at once; the rest is given back by whoever takes it.
    if (to - from < length) stream.consume(length - (to - from));
    const { expectedBytes, receivedBytes } = stream;
    if (
      expectedBytes >= 0 &&
      (receivedBytes > expectedBytes || (endStream && receivedBytes < expectedBytes))
    ) return this.#streamFault(stream, Http2Code.ProtocolError);
    if (endStream) stream.remoteEnded = true;
    stream.events.onData(buffer, from, to, endStream);
    if (endStream) stream.endRemote();
  }

  #dataOnClosed(id: number): void {
    this.#requireOpened(id, "DATA");
    if (!this.#session.isServer || this.#resetIds?.includes(id)) return;
    this.#guard.count(Flood.Reset);
    this.#session.writeReset(id, Http2Code.StreamClosed);
  }

  #headers(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    let from = start;
    let to = end;
    if (id === 0) throw protocol("HEADERS on stream 0");
    if ((flags & Flag.Padded) !== 0) {
      const padding = buffer[from++] as number;
      to -= padding;
      if (end === start || to < from) throw protocol("Padding beyond a frame");
    }
    let selfDependent = false;
    if ((flags & Flag.Priority) !== 0) {
      if (to - from < 5) {
        throw new ConnectionFault(Http2Code.FrameSizeError, "A short HEADERS frame");
      }
      selfDependent = (getUint32(buffer, from) & 0x7fff_ffff) === id;
      from += 5;
    }
    const endStream = (flags & Flag.EndStream) !== 0;
    if ((flags & Flag.EndHeaders) !== 0) {
      return this.#block(id, endStream, selfDependent, buffer, from, to);
    }
    this.#openSinceMs = performance.now();
    const bytes = buffer.slice(from, to);
    this.#open = { streamId: id, endStream, selfDependent, bytes, frames: 0 };
  }

  #continuation(flags: number, buffer: Uint8Array, start: number, end: number): void {
    const open = this.#open;
    if (open === undefined) throw protocol("CONTINUATION without HEADERS");
    const { limits } = this.#session;
    open.frames++;
    if (start === end) this.#guard.count(Flood.Empty);
    const length = open.bytes.length + end - start;
    if (open.frames > limits.maxContinuations || length > limits.maxHeaderBlockBytes) {
      throw new ConnectionFault(Http2Code.EnhanceYourCalm, "A header block without end");
    }
    const bytes = new Uint8Array(length);
    bytes.set(open.bytes);
    bytes.set(buffer.subarray(start, end), open.bytes.length);
    open.bytes = bytes;
    if ((flags & Flag.EndHeaders) === 0) return;
    this.#open = undefined;
    this.#block(open.streamId, open.endStream, open.selfDependent, bytes, 0, length);
  }

  #block(
    id: number,
    endStream: boolean,
    selfDependent: boolean,
    buffer: Uint8Array,
    start: number,
    end: number,
  ): void {
    const session = this.#session;
    const stream = session.streams.get(id);
    if (stream === undefined && session.isServer) this.#requireNewId(id);
    else if (stream === undefined) this.#requireOpened(id, "HEADERS");
    // Decoded in every case, for the table's sake.
    const block = this.#decoder.decode(buffer, start, end);
    if (stream !== undefined) return this.#laterBlock(stream, block, endStream, selfDependent);
    if (!session.isServer || id <= this.lastPeerStreamId) return;
    this.lastPeerStreamId = id;
    if (session.refuses(id)) return;
    const refusal = this.#refusal(block, selfDependent);
    if (refusal !== undefined) {
      this.#guard.count(Flood.Reset);
      this.noteClosed(id, true);
      session.writeReset(id, refusal);
      return;
    }
    const opened = session.accept(id);
    opened.expectedBytes = contentLength(block);
    opened.remoteEnded = endStream;
    if (endStream && opened.expectedBytes > 0) {
      return this.#streamFault(opened, Http2Code.ProtocolError);
    }
    session.events.onStream?.(opened, block, endStream);
    if (endStream) opened.endRemote();
  }

  #requireNewId(id: number): void {
    if (id % 2 === 0) throw protocol(`A request on stream ${id}`);
    if (id > this.lastPeerStreamId || this.#resetIds?.includes(id)) return;
    if (this.#finishedIds?.includes(id)) {
      throw new ConnectionFault(Http2Code.StreamClosed, "HEADERS on a closed stream");
    }
    throw protocol(`Stream ${id} after stream ${this.lastPeerStreamId}`);
  }

  #refusal(block: HeaderBlock, selfDependent: boolean): Http2Code | undefined {
    const session = this.#session;
    if (session.streams.size >= session.limits.maxConcurrentStreams) return Http2Code.RefusedStream;
    if (block.oversize) return Http2Code.EnhanceYourCalm;
    const { known } = block;
    const complete = known[Known.Method] !== undefined && known[Known.Scheme] !== undefined &&
      known[Known.Path] !== undefined && known[Known.Path] !== "";
    if (
      block.malformed || selfDependent || !complete || known[Known.Status] !== undefined ||
      Number.isNaN(contentLength(block))
    ) return Http2Code.ProtocolError;
    return undefined;
  }

  #laterBlock(
    stream: H2Stream,
    block: HeaderBlock,
    endStream: boolean,
    selfDependent: boolean,
  ): void {
    if (stream.remoteEnded) return this.#streamFault(stream, Http2Code.StreamClosed);
    const { known } = block;
    const isReply = !this.#session.isServer && known[Known.Status] !== undefined;
    const isRequest = known[Known.Method] ?? known[Known.Scheme] ?? known[Known.Path] ??
      known[Known.Authority];
    const expected = stream.expectedBytes;
    if (
      block.malformed || selfDependent || isRequest !== undefined || (!isReply && !endStream) ||
      (this.#session.isServer && known[Known.Status] !== undefined) ||
      (endStream && expected >= 0 && stream.receivedBytes !== expected)
    ) return this.#streamFault(stream, Http2Code.ProtocolError);
    if (block.oversize) return this.#streamFault(stream, Http2Code.EnhanceYourCalm);
    if (endStream) stream.remoteEnded = true;
    stream.events.onHeaders(block, endStream);
    if (endStream) stream.endRemote();
  }

  #priority(id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id === 0) throw protocol("PRIORITY on stream 0");
    this.#guard.count(Flood.Ignored);
    const isSelf = end - start === 5 && (getUint32(buffer, start) & 0x7fff_ffff) === id;
    if (end - start === 5 && !isSelf) return;
    const code = isSelf ? Http2Code.ProtocolError : Http2Code.FrameSizeError;
    const stream = this.#session.streams.get(id);
    if (stream !== undefined) return this.#streamFault(stream, code);
    this.#guard.count(Flood.Reset);
    this.#session.writeReset(id, code);
  }

  #rstStream(id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id === 0) throw protocol("RST_STREAM on stream 0");
    if (end - start !== 4) throw new ConnectionFault(Http2Code.FrameSizeError, "A bad RST_STREAM");
    this.#requireOpened(id, "RST_STREAM");
    const session = this.#session;
    if (session.isServer) this.#guard.count(Flood.Reset);
    const stream = session.streams.get(id);
    if (stream === undefined) {
      // Whatever the peer sends on it from here on, it cannot have been under way.
      const at = this.#resetIds?.indexOf(id) ?? -1;
      if (at >= 0) this.#resetIds?.splice(at, 1);
      return;
    }
    session.forget(stream, false);
    stream.release();
    stream.events.onReset(getUint32(buffer, start));
  }

  #settings(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    const session = this.#session;
    if (id !== 0) throw protocol("SETTINGS on a stream");
    const isAck = (flags & Flag.Ack) !== 0;
    if ((end - start) % 6 !== 0 || (isAck && end > start)) {
      throw new ConnectionFault(Http2Code.FrameSizeError, "A SETTINGS frame of a wrong length");
    }
    if (isAck) {
      session.settingsAcked = true;
      return;
    }
    this.#guard.count(Flood.Settings);
    for (let at = start; at < end; at += 6) {
      const key = ((buffer[at] as number) << 8) | (buffer[at + 1] as number);
      this.#setting(key, getUint32(buffer, at + 2));
    }
    session.writeFrame(Frame.Settings, Flag.Ack, 0, NOTHING);
    session.events.onRoom?.();
  }

  #setting(key: number, value: number): void {
    const session = this.#session;
    switch (key) {
      case Setting.HeaderTableSize:
        return session.setEncoderLimit(value);
      case Setting.EnablePush:
        if (value > 1) throw protocol(`ENABLE_PUSH of ${value}`);
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
          throw protocol(`MAX_FRAME_SIZE of ${value}`);
        }
        return;
    }
  }

  #ping(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id !== 0) throw protocol("PING on a stream");
    if (end - start !== 8) throw new ConnectionFault(Http2Code.FrameSizeError, "A bad PING");
    if ((flags & Flag.Ack) !== 0) return this.#session.onPong(getUint32(buffer, start + 4));
    this.#guard.count(Flood.Ping);
    this.#session.writeFrame(Frame.Ping, Flag.Ack, 0, buffer.subarray(start, end));
  }

  #goaway(id: number, buffer: Uint8Array, start: number, end: number): void {
    if (id !== 0) throw protocol("GOAWAY on a stream");
    if (end - start < 8) throw new ConnectionFault(Http2Code.FrameSizeError, "A short GOAWAY");
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
    if (bytes < 1024) this.#guard.count(Flood.SmallWindow);
    if (id === 0) {
      if (bytes === 0) throw protocol("A WINDOW_UPDATE of 0");
      session.sendWindow += bytes;
      if (session.sendWindow > MAX_WINDOW_BYTES) {
        throw new ConnectionFault(Http2Code.FlowControlError, "A window beyond 2^31-1");
      }
      return session.pump();
    }
    this.#requireOpened(id, "WINDOW_UPDATE");
    const stream = session.streams.get(id);
    if (stream === undefined) return;
    if (bytes === 0) return this.#streamFault(stream, Http2Code.ProtocolError);
    if (!stream.openWindow(bytes)) this.#streamFault(stream, Http2Code.FlowControlError);
  }

  #requireOpened(id: number, what: string): void {
    const session = this.#session;
    const isIdle = session.isServer
      ? id > this.lastPeerStreamId || id % 2 === 0
      : session.isUnopened(id);
    if (isIdle) throw protocol(`${what} on idle stream ${id}`);
  }

  #streamFault(stream: H2Stream, code: Http2Code): void {
    // A reset that the peer provokes costs as much as one that it sends.
    this.#guard.count(Flood.Reset);
    stream.reset(code);
    stream.events.onReset(code, new Error("The peer broke a rule of HTTP/2"));
  }
}

const NOTHING = new Uint8Array(0);

function protocol(message: string): ConnectionFault {
  return new ConnectionFault(Http2Code.ProtocolError, message);
}

/** The announced length of a body, -1 without, `NaN` when it is no number. */
function contentLength(block: HeaderBlock): number {
  const text = block.known[Known.ContentLength];
  if (text === undefined) return -1;
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : NaN;
}
