// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A peer that sends whatever frames a test wants, right or wrong.
 *
 * @module
 */

import { type FrameHandler, FrameReader, MORE_TO_PARSE } from "./frame_reader.ts";
import { Flag, Frame, FRAME_HEADER_BYTES, PREFACE, putFrameHeader, putUint32 } from "./frames.ts";
import { HpackDecoder, Known } from "./hpack_decoder.ts";
import { encodedBound, HpackEncoder } from "./hpack_encoder.ts";
import { decodeStatusMessage } from "./status.ts";
import type { ByteStream } from "./stream.ts";
import { dialTcp } from "./tcp.ts";
import { writeAll } from "./write_all.ts";

/** A frame as it came, with a copy of its payload. */
export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Uint8Array;
  /** The `grpc-message` of a header block. */
  readonly message?: string | undefined;
}

/** The bytes of one frame. */
export function frame(
  type: number,
  flags: number,
  id: number,
  payload: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEADER_BYTES + payload.length);
  bytes.set(payload, putFrameHeader(bytes, 0, payload.length, type, flags, id));
  return bytes;
}

/** Four bytes, the highest first, as RST_STREAM and WINDOW_UPDATE carry them. */
export function word(value: number): Uint8Array {
  const bytes = new Uint8Array(4);
  putUint32(bytes, 0, value);
  return bytes;
}

/** A header block of names and values in turn that changes no table. */
export function block(...fields: string[]): Uint8Array {
  const bytes = new Uint8Array(encodedBound(fields));
  return bytes.subarray(0, new HpackEncoder(0).encode(undefined, fields, bytes, 0));
}

/** The header block of a gRPC request. */
export function requestBlock(path: string, ...more: string[]): Uint8Array {
  const fields = [":method", "POST", ":scheme", "http", ":path", path, ":authority", "test"];
  return block(...fields, "content-type", "application/grpc", "te", "trailers", ...more);
}

/** The HEADERS frame of a gRPC request. */
export function request(id: number, path: string, endStream = false): Uint8Array {
  const flags = Flag.EndHeaders | (endStream ? Flag.EndStream : 0);
  return frame(Frame.Headers, flags, id, requestBlock(path));
}

/** A DATA frame with one gRPC message. */
export function message(id: number, bytes: Uint8Array, endStream: boolean): Uint8Array {
  const payload = new Uint8Array(5 + bytes.length);
  putUint32(payload, 1, bytes.length);
  payload.set(bytes, 5);
  return frame(Frame.Data, endStream ? Flag.EndStream : 0, id, payload);
}

/** The payload of a SETTINGS frame. */
export function settings(...pairs: (readonly [key: number, value: number])[]): Uint8Array {
  const payload = new Uint8Array(pairs.length * 6);
  for (const [at, [key, value]] of pairs.entries()) {
    payload[at * 6 + 1] = key;
    putUint32(payload, at * 6 + 2, value);
  }
  return frame(Frame.Settings, 0, 0, payload);
}

/** A connection to a server, frame by frame. */
export class RawPeer {
  readonly #stream: ByteStream;
  readonly #reader: FrameReader;
  readonly #frames: RawFrame[] = [];
  readonly #decoder = new HpackDecoder(4096, 64 * 1024);

  private constructor(stream: ByteStream) {
    this.#stream = stream;
    this.#reader = new FrameReader(stream);
  }

  /** Connects and sends the preface with `first`, an empty SETTINGS frame unless given. */
  static async dial(port: number, first: Uint8Array = settings()): Promise<RawPeer> {
    const peer = new RawPeer(await dialTcp({ hostname: "127.0.0.1", port }));
    await peer.send(PREFACE, first);
    return peer;
  }

  /** Sends all bytes in one write. */
  async send(...pieces: Uint8Array[]): Promise<void> {
    const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    await writeAll(this.#stream, bytes);
  }

  /** The next frame, `undefined` at the end of the connection. */
  async next(): Promise<RawFrame | undefined> {
    while (this.#frames.length === 0) {
      if (!(await this.#read())) return undefined;
      while (this.#reader.parse(0xff_ffff, Infinity, this.#keep) === MORE_TO_PARSE);
    }
    return this.#frames.shift();
  }

  /** Skips frames up to one of a type; `undefined` when the connection ends before. */
  async find(type: number, id?: number): Promise<RawFrame | undefined> {
    for (;;) {
      const found = await this.next();
      if (found === undefined) return undefined;
      if (found.type === type && (id === undefined || found.id === id)) return found;
    }
  }

  /** Reads to the end of the connection and returns the code of its GOAWAY, if there was one. */
  async goawayCode(): Promise<number | undefined> {
    const found = await this.find(Frame.Goaway);
    if (found === undefined) return undefined;
    const { payload } = found;
    return new DataView(payload.buffer, payload.byteOffset).getUint32(4);
  }

  close(): void {
    this.#stream.close();
  }

  readonly #keep: FrameHandler = (type, flags, id, buffer, start, end) => {
    const found = { type, flags, id, payload: buffer.slice(start, end) };
    if (type !== Frame.Headers) return void this.#frames.push(found);
    // Every block is decoded, in order, for the table's sake.
    const { known } = this.#decoder.decode(buffer, start, end);
    const message = decodeStatusMessage(known[Known.GrpcMessage] ?? "");
    this.#frames.push({ ...found, message });
  };

  async #read(): Promise<boolean> {
    try {
      return (await this.#reader.read()) !== null;
    } catch {
      // A connection that was reset has ended too.
      return false;
    }
  }
}
