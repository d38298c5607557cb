// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Numbers of the HTTP/2 wire format (RFC 9113 §4, §6, §7) and the faults that end a connection.
 *
 * @module
 */

/** Frame types. */
export const Frame = {
  Data: 0,
  Headers: 1,
  Priority: 2,
  RstStream: 3,
  Settings: 4,
  PushPromise: 5,
  Ping: 6,
  Goaway: 7,
  WindowUpdate: 8,
  Continuation: 9,
} as const;

/** Frame flags; ACK and END_STREAM share a bit. */
export const Flag = { Ack: 1, EndStream: 1, EndHeaders: 4, Padded: 8, Priority: 0x20 } as const;

/** Identifiers of settings. */
export const Setting = {
  HeaderTableSize: 1,
  EnablePush: 2,
  MaxConcurrentStreams: 3,
  InitialWindowSize: 4,
  MaxFrameSize: 5,
  MaxHeaderListSize: 6,
} as const;

/** Error codes of RST_STREAM and GOAWAY. */
export const Http2Code = {
  NoError: 0,
  ProtocolError: 1,
  InternalError: 2,
  FlowControlError: 3,
  SettingsTimeout: 4,
  StreamClosed: 5,
  FrameSizeError: 6,
  RefusedStream: 7,
  Cancel: 8,
  CompressionError: 9,
  ConnectError: 0xa,
  EnhanceYourCalm: 0xb,
  InadequateSecurity: 0xc,
} as const;

/** An error code of RST_STREAM and GOAWAY. */
export type Http2Code = typeof Http2Code[keyof typeof Http2Code];

/** Length of a frame header. */
export const FRAME_HEADER_BYTES = 9;

/** Window that both sides start with. */
export const DEFAULT_WINDOW_BYTES = 65_535;

/** Largest flow-control window. */
export const MAX_WINDOW_BYTES = 0x7fff_ffff;

/** Frame payload that every peer accepts. */
export const DEFAULT_FRAME_BYTES = 16_384;

/** What a client sends first. */
export const PREFACE: Uint8Array = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** A fault of the peer that ends the whole connection with GOAWAY. */
export class ConnectionFault extends Error {
  override readonly name = "ConnectionFault";
  constructor(readonly code: Http2Code, message: string) {
    super(message);
  }
}

/** A fault of the peer against the protocol in general. */
export function protocolFault(message: string): ConnectionFault {
  return new ConnectionFault(Http2Code.ProtocolError, message);
}

/** Writes a frame header at `at` and returns where the payload starts. */
export function putFrameHeader(
  buffer: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  buffer[at] = length >>> 16;
  buffer[at + 1] = length >>> 8;
  buffer[at + 2] = length;
  buffer[at + 3] = type;
  buffer[at + 4] = flags;
  buffer[at + 5] = streamId >>> 24;
  buffer[at + 6] = streamId >>> 16;
  buffer[at + 7] = streamId >>> 8;
  buffer[at + 8] = streamId;
  return at + FRAME_HEADER_BYTES;
}

/** Writes four bytes, the highest first. */
export function putUint32(buffer: Uint8Array, at: number, value: number): number {
  buffer[at] = value >>> 24;
  buffer[at + 1] = value >>> 16;
  buffer[at + 2] = value >>> 8;
  buffer[at + 3] = value;
  return at + 4;
}

/** Reads four bytes, the highest first. */
export function getUint32(buffer: Uint8Array, at: number): number {
  return (((buffer[at] as number) << 24) | ((buffer[at + 1] as number) << 16) |
    ((buffer[at + 2] as number) << 8) | (buffer[at + 3] as number)) >>> 0;
}
