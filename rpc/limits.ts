// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Every limit of the transport, its default and the reason for it, in one table.
 *
 * A violation ends the stream or the connection that it happened on, never the process.
 *
 * @module
 */

/** The limits of one server or one channel. Times are in milliseconds, sizes in bytes. */
export interface Limits {
  /** Streams that the peer may have open at once on one connection. */
  readonly maxConcurrentStreams: number;
  /** Header list of one request or reply, counted as RFC 9113 §6.5.2 does. */
  readonly maxHeaderListBytes: number;
  /** HPACK dynamic table, in each direction. */
  readonly headerTableBytes: number;
  /** Compressed bytes of one header block over all its CONTINUATION frames. */
  readonly maxHeaderBlockBytes: number;
  /** CONTINUATION frames of one header block. */
  readonly maxContinuations: number;
  /** Largest frame accepted. */
  readonly maxFrameBytes: number;
  /** One gRPC message, after decompression. */
  readonly maxMessageBytes: number;
  /** Receive window of a stream. */
  readonly streamWindowBytes: number;
  /** Receive window of a connection. */
  readonly connectionWindowBytes: number;
  /** Received message bytes held for one connection: in part, unread, or of a running call. */
  readonly maxConnectionBufferBytes: number;
  /** The same for all connections of a server together. */
  readonly maxTotalBufferBytes: number;
  /** Replies that wait for one connection's peer; a further unary reply is refused. */
  readonly maxConnectionUnsentBytes: number;
  /** The same for all connections of a server together. */
  readonly maxTotalUnsentBytes: number;
  /** Bytes waiting to be written on one connection before reading from it and sending pause. */
  readonly writeHighWaterBytes: number;
  /** Streams that the peer resets or has reset by its errors, in ten seconds. */
  readonly maxResetsPer10s: number;
  /** SETTINGS frames in ten seconds. */
  readonly maxSettingsPer10s: number;
  /** PING frames in ten seconds during which nothing was sent to the peer. */
  readonly maxPingsPer10s: number;
  /** PRIORITY and unknown frames in ten seconds. */
  readonly maxIgnoredPer10s: number;
  /** DATA and CONTINUATION frames that carry nothing, in ten seconds. */
  readonly maxEmptyFramesPer10s: number;
  /** WINDOW_UPDATE frames of less than 1 KiB in ten seconds. */
  readonly maxSmallWindowUpdatesPer10s: number;
  /** Connections of a server. */
  readonly maxConnections: number;
  /** Connections of a server from one address. */
  readonly maxConnectionsPerPeer: number;
  /** Time from the accepted connection to the end of the HTTP/2 preface, or of an HTTP/1.1 request. */
  readonly prefaceTimeoutMs: number;
  /** Time that a header block, or a unary request, may take to arrive without a byte of progress. */
  readonly requestStallMs: number;
  /** Time that a write may wait for the peer to take bytes. */
  readonly writeStallMs: number;
  /** Time that data may wait for the peer to open the window of its stream or of the connection. */
  readonly windowStallMs: number;
  /** A connection without streams is closed after this time. 0: never. */
  readonly idleMs: number;
  /** A silent connection is probed with a PING after this time. 0: never. */
  readonly keepaliveMs: number;
  /** Time that the peer has to answer a keepalive PING. */
  readonly keepaliveTimeoutMs: number;
}

/** The defaults, with their reasons. */
const DEFAULT_LIMITS: Limits = {
  // A Kubernetes-sized client opens some hundred watches; RFC 9113 advises at least 100.
  maxConcurrentStreams: 1000,
  // What gRPC implementations accept at least is 8 KiB; tokens and signatures fit twice.
  maxHeaderListBytes: 16 * 1024,
  // The protocol's own default, so that the first frames need no change of it.
  headerTableBytes: 4096,
  // Huffman coding never makes a list longer than the encoder wants; twice the list is generous.
  maxHeaderBlockBytes: 32 * 1024,
  // Two full frames hold the largest block; the rest is slack for peers with small frames.
  maxContinuations: 16,
  // The protocol's own default and least value: a larger frame only delays others.
  maxFrameBytes: 16 * 1024,
  // The contract of the public clients.
  maxMessageBytes: 32 * 1024 * 1024,
  // A gigabit over a round trip of 8 ms; it is a promise, not an allocation.
  streamWindowBytes: 1024 * 1024,
  // Several full streams at once; connections are held back by the buffer limits, not by this.
  connectionWindowBytes: 4 * 1024 * 1024,
  // Two messages of the largest size; more than that at once is nobody's normal work.
  maxConnectionBufferBytes: 64 * 1024 * 1024 + 1024 * 1024,
  // An eighth of the 2 GiB that the program is designed for.
  maxTotalBufferBytes: 256 * 1024 * 1024,
  // Four replies of the largest size to a slow reader. Replies that share their bytes count each.
  maxConnectionUnsentBytes: 128 * 1024 * 1024,
  maxTotalUnsentBytes: 512 * 1024 * 1024,
  // Enough to keep a fast socket busy between two turns of the event loop.
  writeHighWaterBytes: 128 * 1024,
  // A client that cancels all its streams at once twice is still welcome.
  maxResetsPer10s: 2000,
  // Peers send one, and another one for each change of a window.
  maxSettingsPer10s: 100,
  // Bandwidth estimators send a PING each round trip, but only while data flows.
  maxPingsPer10s: 200,
  // Browsers of old sent a few PRIORITY frames a request; nobody here needs either kind.
  maxIgnoredPer10s: 1000,
  // Some clients end a stream's data with one; it has no other use.
  maxEmptyFramesPer10s: 100,
  // Small updates are normal at the end of small messages, so the count is high.
  maxSmallWindowUpdatesPer10s: 20_000,
  // 16 KiB each would be 320 MiB.
  maxConnections: 20_000,
  // Many machines share an address behind a translating router.
  maxConnectionsPerPeer: 4096,
  // Several round trips of a bad line; a stranger holds a connection no longer without a word.
  prefaceTimeoutMs: 10_000,
  // Lost packets stop a stream for some seconds at most; a minute without a byte is no accident.
  requestStallMs: 60_000,
  writeStallMs: 60_000,
  // A reader that works through a large message opens its window late, but within minutes.
  windowStallMs: 300_000,
  // Clients dial again by themselves; machines keep theirs busy with a stream.
  idleMs: 1_800_000,
  // A machine that vanished without closing is found within a minute and a half, and 10,000 idle
  // connections cost 170 PING frames a second.
  keepaliveMs: 60_000,
  // What gRPC implementations wait by default.
  keepaliveTimeoutMs: 20_000,
};

/** The defaults with some of them replaced. */
export function withLimits(overrides: Partial<Limits> = {}): Limits {
  return { ...DEFAULT_LIMITS, ...overrides };
}
