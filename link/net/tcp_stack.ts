// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * TCP of one address: ports, listeners, and the way of packets to connections.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { addressKey, formatIpv6, type RandomBytes } from "../addresses.ts";
import type { TimerQueue } from "../timers.ts";
import type { DialOptions } from "../tunnel_net.ts";
import { mac } from "../wireguard/primitives.ts";
import { type AcceptQueue, createAcceptQueue, type QueueListener } from "./accept_queue.ts";
import {
  checksum,
  IPV6_HEADER_SIZE,
  PROTOCOL_TCP,
  SOURCE_OFFSET,
  writeIpv6Header,
} from "./ipv6.ts";
import { TcpConnection } from "./tcp_connection.ts";
import {
  type FillPayload,
  INITIAL_WINDOW,
  type TcpFailure,
  type TcpHost,
  type TcpPath,
} from "./tcp_host.ts";
import { RingPool } from "./ring.ts";
import {
  ACK,
  FIN,
  optionsSize,
  parseTcp,
  RST,
  seqAdd,
  SYN,
  TCP_HEADER_SIZE,
  type TcpHeader,
  type TcpSegment,
  writeTcpHeader,
} from "./tcp_segment.ts";
import { createTcpStream, failureError, type IncomingTcp, type TcpStream } from "./tcp_stream.ts";

/** What a stack is made of. */
export interface TcpStackOptions {
  /** Our own address, 16 bytes. */
  readonly address: Uint8Array;
  readonly timers: TimerQueue;
  nowMs(): number;
  readonly random: RandomBytes;
  /** Runs something after the packets that have already come in. */
  defer(run: () => void): void;
  /** Sends a packet, whose memory may be used again; returns whether anybody has the address. */
  send(packet: Uint8Array, destination: string): boolean;
}

/** Connections of a listener that are not complete, or that nobody has accepted. */
const BACKLOG = 512;
/** Connections of one peer, so that none can use up the memory for all. */
const MAX_CONNECTIONS_PER_PEER = 256;
const FIRST_EPHEMERAL = 32_768;
const EPHEMERAL_COUNT = 28_232;
/** Acknowledgements of doubtful segments, in a second (RFC 5961). */
const CHALLENGES_PER_SECOND = 500;
/** Memory of all buffers together above which no window grows, in bytes. */
const MEMORY_LIMIT = 64 * 1024 * 1024;
const LARGE_WINDOW = 1024 * 1024;

interface Entry {
  readonly connection: TcpConnection;
  readonly stream: TcpStream;
}

interface Listener {
  readonly queue: AcceptQueue<IncomingTcp>;
  halfOpen: number;
}

/** The stack. */
export class TcpStack implements TcpHost {
  readonly timers: TimerQueue;
  readonly pool = new RingPool();
  readonly #options: TcpStackOptions;
  readonly #secret: Uint8Array;
  readonly #entries = new Map<string, Entry>();
  readonly #perPeer = new Map<string, number>();
  readonly #listeners = new Map<number, Listener>();
  readonly #deferred: (() => void)[] = [];
  #challengeSecond = 0;
  #challenges = 0;
  /** The packet that is being made; to allocate each would take as long as to fill it. */
  #packet = new Uint8Array(0);
  #isClosed = false;

  constructor(options: TcpStackOptions) {
    this.#options = options;
    this.timers = options.timers;
    this.#secret = options.random(32);
  }

  /** How many connections there are, in any state. */
  get connectionCount(): number {
    return this.#entries.size;
  }

  /** Memory of all send and receive buffers, in bytes. */
  get memoryBytes(): number {
    return this.pool.usedBytes;
  }

  /** Accepts connections to a port; see `TunnelNet.listen`. */
  listen(port: number): QueueListener<IncomingTcp> {
    this.#assertOpen("listen");
    if (!Number.isInteger(port) || port < 0 || port > 65_535) {
      throw new CodedError("invalidArgument", `Cannot listen in the tunnel: port is ${port}`);
    }
    const chosen = port === 0
      ? this.#freePort((candidate) => !this.#listeners.has(candidate))
      : port;
    if (chosen === undefined || this.#listeners.has(chosen)) {
      throw new CodedError("alreadyExists", `Cannot listen in the tunnel: port ${port} is taken`);
    }
    const queue = createAcceptQueue<IncomingTcp>(chosen, () => this.#listeners.delete(chosen));
    this.#listeners.set(chosen, { queue, halfOpen: 0 });
    return queue.listener;
  }

  /** Opens a connection; see `TunnelNet.dial`. */
  dial(address: Uint8Array, port: number, options: DialOptions = {}): Promise<TcpStream> {
    const { signal } = options;
    return new Promise((resolve, reject) => {
      this.#assertOpen("dial");
      const action = `dial [${formatIpv6(address)}]:${port}`;
      const cancelled = (): CodedError =>
        new CodedError("cancelled", `Cannot ${action}: it was cancelled`, {
          cause: signal?.reason,
        });
      if (signal?.aborted) throw cancelled();
      const path = this.#newPath(address, port);
      if (path === undefined) {
        throw new CodedError("resourceExhausted", `Cannot ${action}: too many connections`);
      }
      let isPending = true;
      const settle = (): void => {
        isPending = false;
        signal?.removeEventListener("abort", onAbort);
      };
      const onAbort = (): void => {
        settle();
        reject(cancelled());
        entry.connection.abort();
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      const entry: Entry = this.#open(path, undefined, () => {
        settle();
        resolve(entry.stream);
      }, (failure) => {
        if (!isPending) return;
        settle();
        reject(failureError(action, failure));
      });
    });
  }

  /** Takes a packet to our own address. */
  receive(packet: Uint8Array): void {
    const segment = parseTcp(packet);
    if (segment === undefined || checksum(packet) !== 0) return;
    const remoteKey = addressKey(packet, SOURCE_OFFSET);
    const key = keyOf(remoteKey, segment.sourcePort, segment.destinationPort);
    const entry = this.#entries.get(key);
    if (entry !== undefined && !this.#isReplacedBy(entry.connection, segment)) {
      entry.connection.receive(segment);
      return;
    }
    const path: TcpPath = {
      localPort: segment.destinationPort,
      remotePort: segment.sourcePort,
      remoteAddress: packet.slice(SOURCE_OFFSET, SOURCE_OFFSET + 16),
      remoteKey,
    };
    const isFresh = (segment.flags & (SYN | ACK | RST | FIN)) === SYN;
    if (isFresh && this.#accept(path, segment)) return;
    this.#refuse(path, segment);
  }

  /** Ends all connections with an address. */
  dropPeer(remoteKey: string): void {
    if (!this.#perPeer.has(remoteKey)) return;
    for (const { connection } of [...this.#entries.values()]) {
      if (connection.path.remoteKey === remoteKey) connection.abort("timedOut");
    }
  }

  /** Ends all listeners and connections. */
  close(): void {
    this.#isClosed = true;
    for (const { queue } of [...this.#listeners.values()]) queue.listener.close();
    for (const { connection } of [...this.#entries.values()]) connection.abort();
  }

  nowMs(): number {
    return this.#options.nowMs();
  }

  windowLimit(): number {
    return this.pool.usedBytes > MEMORY_LIMIT ? INITIAL_WINDOW : LARGE_WINDOW;
  }

  defer(run: () => void): void {
    this.#deferred.push(run);
    if (this.#deferred.length > 1) return;
    this.#options.defer(() => {
      for (const todo of this.#deferred.splice(0)) todo();
    });
  }

  allowChallenge(): boolean {
    const second = Math.floor(this.nowMs() / 1000);
    if (second !== this.#challengeSecond) {
      this.#challengeSecond = second;
      this.#challenges = 0;
    }
    return this.#challenges++ < CHALLENGES_PER_SECOND;
  }

  emit(
    path: TcpPath,
    header: TcpHeader,
    length: number,
    fill?: FillPayload,
  ): void {
    const size = IPV6_HEADER_SIZE + TCP_HEADER_SIZE + optionsSize(header.options) + length;
    if (this.#packet.length < size) this.#packet = new Uint8Array(size);
    const packet = this.#packet.subarray(0, size);
    packet.fill(0, 0, size - length);
    writeIpv6Header(packet, PROTOCOL_TCP, this.#options.address, path.remoteAddress);
    const payloadAt = writeTcpHeader(packet, header);
    fill?.(packet, payloadAt);
    const sum = checksum(packet);
    packet[IPV6_HEADER_SIZE + 16] = sum >> 8;
    packet[IPV6_HEADER_SIZE + 17] = sum & 0xff;
    this.#options.send(packet, path.remoteKey);
  }

  #accept(path: TcpPath, segment: TcpSegment): boolean {
    const listener = this.#listeners.get(path.localPort);
    if (listener === undefined || this.#isClosed) return false;
    // A full backlog stays silent: the peer tries again, and a refusal would be wrong.
    if (listener.halfOpen + listener.queue.length >= BACKLOG) return true;
    if ((this.#perPeer.get(path.remoteKey) ?? 0) >= MAX_CONNECTIONS_PER_PEER) return true;
    listener.halfOpen++;
    let isHalfOpen = true;
    const settle = (): void => {
      if (isHalfOpen) listener.halfOpen--;
      isHalfOpen = false;
    };
    const entry: Entry = this.#open(path, segment, () => {
      settle();
      listener.queue.push({
        stream: entry.stream,
        remoteAddress: formatIpv6(path.remoteAddress),
        remotePort: path.remotePort,
      });
    }, settle);
    return true;
  }

  #open(
    path: TcpPath,
    syn: TcpSegment | undefined,
    onEstablished: () => void,
    onFailed: (failure: TcpFailure) => void,
  ): Entry {
    const key = keyOf(path.remoteKey, path.remotePort, path.localPort);
    const state: { entry?: Entry } = {};
    const connection = new TcpConnection(this, path, this.#initialSeq(path), {
      onEstablished,
      onProgress: () => state.entry?.stream.progress(),
      onClosed: (failure) => {
        if (this.#entries.get(key) === state.entry) this.#entries.delete(key);
        this.#countPeer(path.remoteKey, -1);
        onFailed(failure ?? "aborted");
        state.entry?.stream.ended(failure);
      },
    }, syn);
    const entry: Entry = { connection, stream: createTcpStream(connection) };
    state.entry = entry;
    this.#entries.set(key, entry);
    this.#countPeer(path.remoteKey, 1);
    return entry;
  }

  #countPeer(remoteKey: string, change: number): void {
    const count = (this.#perPeer.get(remoteKey) ?? 0) + change;
    if (count > 0) this.#perPeer.set(remoteKey, count);
    else this.#perPeer.delete(remoteKey);
  }

  /** A new SYN may take the place of a connection that only waits for stragglers (RFC 6191). */
  #isReplacedBy(connection: TcpConnection, segment: TcpSegment): boolean {
    if (connection.state !== "timeWait" || !(segment.flags & SYN) || segment.flags & ACK) {
      return false;
    }
    if (!this.#listeners.has(segment.destinationPort) || !connection.isBefore(segment)) {
      return false;
    }
    connection.abort();
    return true;
  }

  /** Answers a segment that belongs to nothing (RFC 9293 section 3.10.7.1). */
  #refuse(path: TcpPath, segment: TcpSegment): void {
    if (segment.flags & RST || !this.allowChallenge()) return;
    const hasAck = (segment.flags & ACK) !== 0;
    const length = segment.payload.length + (segment.flags & SYN ? 1 : 0) +
      (segment.flags & FIN ? 1 : 0);
    this.emit(path, {
      sourcePort: path.localPort,
      destinationPort: path.remotePort,
      seq: hasAck ? segment.ack : 0,
      ack: hasAck ? 0 : seqAdd(segment.seq, length),
      flags: hasAck ? RST : RST | ACK,
      window: 0,
      options: {},
    }, 0);
  }

  #newPath(remoteAddress: Uint8Array, remotePort: number): TcpPath | undefined {
    const remoteKey = addressKey(remoteAddress);
    if ((this.#perPeer.get(remoteKey) ?? 0) >= MAX_CONNECTIONS_PER_PEER) return undefined;
    const localPort = this.#freePort((port) =>
      !this.#entries.has(keyOf(remoteKey, remotePort, port)) && !this.#listeners.has(port)
    );
    return localPort === undefined
      ? undefined
      : { localPort, remoteAddress, remoteKey, remotePort };
  }

  #freePort(isFree: (port: number) => boolean): number | undefined {
    const bytes = this.#options.random(2);
    const start = ((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0);
    for (let i = 0; i < EPHEMERAL_COUNT; i++) {
      const port = FIRST_EPHEMERAL + (start + i) % EPHEMERAL_COUNT;
      if (isFree(port)) return port;
    }
    return undefined;
  }

  /** RFC 6528: a clock of 4 µs steps, moved by a secret function of the path. */
  #initialSeq(path: TcpPath): number {
    const input = new Uint8Array(20);
    input.set(path.remoteAddress);
    const view = new DataView(input.buffer);
    view.setUint16(16, path.localPort);
    view.setUint16(18, path.remotePort);
    const offset = new DataView(mac(this.#secret, input).buffer).getUint32(0);
    return seqAdd(offset, Math.floor(this.nowMs() * 250) % 0x1_0000_0000);
  }

  #assertOpen(action: string): void {
    if (this.#isClosed) {
      throw new CodedError("unavailable", `Cannot ${action} in the tunnel: it is closed`);
    }
  }
}

function keyOf(remoteKey: string, remotePort: number, localPort: number): string {
  return remoteKey + String.fromCharCode(remotePort, localPort);
}
