// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Puts frames into the sending buffer of a connection.
 *
 * @module
 */

import {
  DEFAULT_FRAME_BYTES,
  Flag,
  Frame,
  FRAME_HEADER_BYTES,
  type Http2Code,
  PREFACE,
  putFrameHeader,
  putUint32,
} from "./frames.ts";
import { type HeaderTemplate, HpackEncoder } from "./hpack_encoder.ts";
import type { Outbox } from "./outbox.ts";

const encoder = new TextEncoder();

/** Writes the frames of a connection. */
export class FrameWriter {
  readonly #outbox: Outbox;
  readonly #hpack: HpackEncoder;
  #dataId = 0;
  #dataFrameAt = 0;

  constructor(outbox: Outbox, headerTableBytes: number) {
    this.#outbox = outbox;
    this.#hpack = new HpackEncoder(headerTableBytes);
  }

  /** Takes over a HEADER_TABLE_SIZE of the peer. */
  setHeaderTableLimit(bytes: number): void {
    this.#hpack.setPeerLimit(bytes);
  }

  /** Writes what a client sends first. */
  preface(): void {
    const at = this.#outbox.reserve(PREFACE.length);
    this.#outbox.buffer.set(PREFACE, at);
    this.#outbox.commit(at + PREFACE.length);
  }

  /** Writes a header block, in one frame or with CONTINUATION frames. */
  headers(
    id: number,
    template: HeaderTemplate | undefined,
    fields: readonly string[] | undefined,
    endStream: boolean,
  ): void {
    const outbox = this.#outbox;
    const at = outbox.reserve(FRAME_HEADER_BYTES + this.#hpack.bound(template, fields));
    const start = at + FRAME_HEADER_BYTES;
    const end = this.#hpack.encode(template, fields, outbox.buffer, start);
    const endFlag = endStream ? Flag.EndStream : 0;
    if (end - start <= DEFAULT_FRAME_BYTES) {
      const flags = Flag.EndHeaders | endFlag;
      putFrameHeader(outbox.buffer, at, end - start, Frame.Headers, flags, id);
      outbox.commit(end);
      return;
    }
    const block = outbox.buffer.slice(start, end);
    for (let from = 0; from < block.length; from += DEFAULT_FRAME_BYTES) {
      const piece = block.subarray(from, from + DEFAULT_FRAME_BYTES);
      const flags = (from === 0 ? endFlag : 0) |
        (from + piece.length === block.length ? Flag.EndHeaders : 0);
      this.#frame(from === 0 ? Frame.Headers : Frame.Continuation, flags, id, piece);
    }
  }

  /**
   * Makes room for `bytes` of a stream's data and returns the offset in the outbox's buffer to write
   * them to. They join the frame before them if that is of the same stream, has not left yet and has
   * room: for a reader a frame costs more than its bytes.
   */
  beginData(id: number, bytes: number): number {
    const outbox = this.#outbox;
    const frameAt = outbox.openFrameAt;
    if (frameAt >= 0 && this.#dataId === id) {
      const joined = outbox.length - frameAt - FRAME_HEADER_BYTES + bytes;
      if (joined <= DEFAULT_FRAME_BYTES) {
        this.#dataFrameAt = frameAt;
        return outbox.reserve(bytes);
      }
    }
    this.#dataId = id;
    this.#dataFrameAt = outbox.reserve(FRAME_HEADER_BYTES + bytes);
    return this.#dataFrameAt + FRAME_HEADER_BYTES;
  }

  /** Ends what {@linkcode beginData} began; the data were written up to `end`. */
  endData(end: number, endStream: boolean): void {
    const outbox = this.#outbox;
    const at = this.#dataFrameAt;
    const length = end - at - FRAME_HEADER_BYTES;
    const flags = endStream ? Flag.EndStream : 0;
    putFrameHeader(outbox.buffer, at, length, Frame.Data, flags, this.#dataId);
    outbox.commit(end, at);
  }

  /** Writes an empty DATA frame that ends a stream. */
  endOfStream(id: number): void {
    this.#frame(Frame.Data, Flag.EndStream, id, NOTHING);
  }

  /** Writes a RST_STREAM frame. */
  reset(id: number, code: Http2Code): void {
    this.#word(Frame.RstStream, id, code);
  }

  /** Writes a WINDOW_UPDATE frame; stream 0 is the connection. */
  windowUpdate(id: number, bytes: number): void {
    this.#word(Frame.WindowUpdate, id, bytes);
  }

  /** Writes a SETTINGS frame. */
  settings(settings: readonly (readonly [key: number, value: number])[]): void {
    const payload = new Uint8Array(settings.length * 6);
    for (const [index, [key, value]] of settings.entries()) {
      payload[index * 6 + 1] = key;
      putUint32(payload, index * 6 + 2, value);
    }
    this.#frame(Frame.Settings, 0, 0, payload);
  }

  /** Acknowledges the peer's SETTINGS. */
  settingsAck(): void {
    this.#frame(Frame.Settings, Flag.Ack, 0, NOTHING);
  }

  /** Writes a PING that says which one it is. */
  ping(kind: number): void {
    const payload = new Uint8Array(8);
    putUint32(payload, 4, kind);
    this.#frame(Frame.Ping, 0, 0, payload);
  }

  /** Answers a PING with its own payload. */
  pong(payload: Uint8Array): void {
    this.#outbox.commitLazily(this.#put(Frame.Ping, Flag.Ack, 0, payload));
  }

  /** Writes a GOAWAY frame. */
  goaway(lastStreamId: number, code: number, text: string): void {
    const detail = encoder.encode(text);
    const payload = new Uint8Array(8 + detail.length);
    putUint32(payload, putUint32(payload, 0, lastStreamId), code);
    payload.set(detail, 8);
    this.#frame(Frame.Goaway, 0, 0, payload);
  }

  #word(type: number, id: number, value: number): void {
    const outbox = this.#outbox;
    const at = outbox.reserve(FRAME_HEADER_BYTES + 4);
    const to = putFrameHeader(outbox.buffer, at, 4, type, 0, id);
    outbox.commit(putUint32(outbox.buffer, to, value));
  }

  #frame(type: number, flags: number, id: number, payload: Uint8Array): void {
    this.#outbox.commit(this.#put(type, flags, id, payload));
  }

  /** Puts a frame into the outbox's buffer and returns where it ends. */
  #put(type: number, flags: number, id: number, payload: Uint8Array): number {
    const outbox = this.#outbox;
    const at = outbox.reserve(FRAME_HEADER_BYTES + payload.length);
    const to = putFrameHeader(outbox.buffer, at, payload.length, type, flags, id);
    outbox.buffer.set(payload, to);
    return to + payload.length;
  }
}

const NOTHING = new Uint8Array(0);
