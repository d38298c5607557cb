// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Header blocks that a peer sends: puts them together, decodes them and opens streams by them
 * (RFC 9113 §4.3, §6.2, §8.2, §8.3).
 *
 * @module
 */

import { Flood, type FloodGuard } from "./flood_guard.ts";
import { ConnectionFault, Flag, getUint32, Http2Code, protocolFault } from "./frames.ts";
import type { H2Stream } from "./h2_stream.ts";
import { type HeaderBlock, HpackDecoder, Known } from "./hpack_decoder.ts";
import type { Session } from "./session.ts";

/** A header block whose CONTINUATION frames are still to come. */
interface OpenBlock {
  readonly streamId: number;
  readonly endStream: boolean;
  readonly selfDependent: boolean;
  readonly sinceMs: number;
  bytes: Uint8Array;
  frames: number;
}

/** Handles HEADERS and CONTINUATION frames of a {@linkcode Session}. */
export class HeaderBlocks {
  readonly #session: Session;
  readonly #guard: FloodGuard;
  readonly #decoder: HpackDecoder;
  #open: OpenBlock | undefined;
  /** Highest stream that the peer opened. */
  lastPeerStreamId = 0;

  constructor(session: Session, guard: FloodGuard) {
    const { headerTableBytes, maxHeaderListBytes } = session.limits;
    this.#session = session;
    this.#guard = guard;
    this.#decoder = new HpackDecoder(headerTableBytes, maxHeaderListBytes);
  }

  /** The stream whose block is not complete, `undefined` when none is. */
  get openStreamId(): number | undefined {
    return this.#open?.streamId;
  }

  /** Since when a block is not complete, in milliseconds of `performance.now()`. */
  get openSinceMs(): number | undefined {
    return this.#open?.sinceMs;
  }

  /** Handles a HEADERS frame. */
  headers(flags: number, id: number, buffer: Uint8Array, start: number, end: number): void {
    let from = start;
    let to = end;
    if (id === 0) throw protocolFault("HEADERS on stream 0");
    if ((flags & Flag.Padded) !== 0) {
      const padding = buffer[from++] as number;
      to -= padding;
      if (end === start || to < from) throw protocolFault("Padding beyond a frame");
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
    const bytes = buffer.slice(from, to);
    const sinceMs = performance.now();
    this.#open = { streamId: id, endStream, selfDependent, sinceMs, bytes, frames: 0 };
  }

  /** Handles a CONTINUATION frame. */
  continuation(flags: number, buffer: Uint8Array, start: number, end: number): void {
    const open = this.#open;
    if (open === undefined) throw protocolFault("CONTINUATION without HEADERS");
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
    if (stream === undefined) this.#requireHeadersAllowed(id);
    // Decoded in every case, for the table's sake.
    const block = this.#decoder.decode(buffer, start, end);
    if (stream !== undefined) return this.#laterBlock(stream, block, endStream, selfDependent);
    // Replies to calls that were cancelled come in any number.
    if (!session.isServer) return;
    if (id <= this.lastPeerStreamId) return this.#guard.count(Flood.Ignored);
    this.lastPeerStreamId = id;
    if (session.refuses(id)) return;
    const refusal = this.#refusal(block, selfDependent);
    if (refusal !== undefined) {
      this.#guard.count(Flood.Reset);
      session.closedStreams.add(id, true);
      session.writer.reset(id, refusal);
      return;
    }
    const opened = session.accept(id);
    opened.expectedBytes = contentLength(block);
    opened.remoteEnded = endStream;
    if (endStream && opened.expectedBytes > 0) {
      return session.faultStream(opened, Http2Code.ProtocolError);
    }
    session.events.onStream?.(opened, block, endStream);
    if (endStream) opened.endRemote();
  }

  /** Throws unless headers may come on a stream that is not open. */
  #requireHeadersAllowed(id: number): void {
    const { closedStreams, isServer } = this.#session;
    if (!isServer) {
      if (this.#session.isUnopened(id)) throw protocolFault(`HEADERS on idle stream ${id}`);
      return;
    }
    if (id % 2 === 0) throw protocolFault(`A request on stream ${id}`);
    if (id > this.lastPeerStreamId || closedStreams.mayReceive(id)) return;
    if (closedStreams.isFinished(id)) {
      throw new ConnectionFault(Http2Code.StreamClosed, "HEADERS on a closed stream");
    }
    throw protocolFault(`Stream ${id} after stream ${this.lastPeerStreamId}`);
  }

  #refusal(block: HeaderBlock, selfDependent: boolean): Http2Code | undefined {
    const session = this.#session;
    if (session.streams.size >= session.limits.maxConcurrentStreams) return Http2Code.RefusedStream;
    if (block.oversize) return Http2Code.EnhanceYourCalm;
    const { known } = block;
    const isComplete = known[Known.Method] !== undefined && known[Known.Scheme] !== undefined &&
      known[Known.Path] !== undefined && known[Known.Path] !== "";
    if (
      block.malformed || selfDependent || !isComplete || known[Known.Status] !== undefined ||
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
    const session = this.#session;
    if (stream.remoteEnded) return session.faultStream(stream, Http2Code.StreamClosed);
    const { known } = block;
    const hasStatus = known[Known.Status] !== undefined;
    const requestField = known[Known.Method] ?? known[Known.Scheme] ?? known[Known.Path] ??
      known[Known.Authority];
    const expected = stream.expectedBytes;
    if (
      block.malformed || selfDependent || requestField !== undefined ||
      (session.isServer ? hasStatus || !endStream : !hasStatus && !endStream) ||
      (endStream && expected >= 0 && stream.receivedBytes !== expected)
    ) return session.faultStream(stream, Http2Code.ProtocolError);
    if (block.oversize) return session.faultStream(stream, Http2Code.EnhanceYourCalm);
    if (endStream) stream.remoteEnded = true;
    stream.events.onHeaders(block, endStream);
    if (endStream) stream.endRemote();
  }
}

/** The announced length of a body, -1 without, `NaN` when it is no number. */
function contentLength(block: HeaderBlock): number {
  const text = block.known[Known.ContentLength];
  if (text === undefined) return -1;
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : NaN;
}
