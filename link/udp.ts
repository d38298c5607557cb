// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Where datagrams come from and go to: the UDP socket, as an interface that tests can put something
 * else behind.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { parseIpv4, parseIpv6 } from "./addresses.ts";

/** One end of a datagram's way. */
export interface UdpEndpoint {
  readonly hostname: string;
  readonly port: number;
}

/** Takes a datagram; its memory is used again when the call returns. */
export type DatagramHandler = (datagram: Uint8Array, source: UdpEndpoint) => void;

/** A bound socket. */
export interface UdpBind {
  readonly port: number;
  /** What the kernel keeps for us at most; absent when it is the system's default. */
  readonly receiveBufferBytes?: number;
  /**
   * Hands over everything that comes in until the bind is closed; rejects when it breaks.
   *
   * @param mayGather Whether what comes next may wait for some 100 ms, so that more of it comes
   *   together; asked again with every datagram that is sent meanwhile.
   */
  run(handler: DatagramHandler, mayGather?: () => boolean): Promise<void>;
  /** Sends a datagram, or drops it when too many wait; its memory may be used again. */
  send(datagram: Uint8Array, endpoint: UdpEndpoint): void;
  close(): void;
}

/** Datagrams that wait for the socket; beyond this they are dropped, as a network would. */
const SEND_LIMIT = 2048;
/** Sends that are awaited together; one by one is slower, and more does not help. */
const SEND_BATCH = 16;
/** More than any message that a peer with our MTU sends. */
export const RECEIVE_SIZE = 2048;

/**
 * Binds a UDP socket.
 *
 * @param hostname Where to bind; `::` takes IPv4 too.
 * @throws CodedError `unavailable` when the address cannot be bound.
 */
export function bindUdp(hostname: string, port: number): UdpBind {
  const socket = listen(hostname, port);
  const isDualStack = socket.addr.transport === "udp" && socket.addr.hostname === "::";
  const bound = socket.addr.transport === "udp" ? socket.addr.port : 0;
  const waiting: { datagram: Uint8Array; address: Deno.NetAddr }[] = [];
  let isSending = false;
  let isClosed = false;

  const flush = async (): Promise<void> => {
    isSending = true;
    while (waiting.length > 0 && !isClosed) {
      const batch = waiting.splice(0, SEND_BATCH);
      await Promise.all(batch.map(({ datagram, address }) =>
        // An unreachable peer is no news here; its handshake tells.
        socket.send(datagram, address).catch(() => 0)
      ));
    }
    isSending = false;
  };
  return {
    port: bound,
    async run(handler) {
      const buffer = new Uint8Array(RECEIVE_SIZE);
      while (!isClosed) {
        try {
          const [datagram, source] = await socket.receive(buffer);
          if (source.transport === "udp") handler(datagram, unmapped(source));
        } catch (error) {
          if (isClosed) return;
          // Some systems report a peer's ICMP errors at the next receive.
          if (error instanceof Deno.errors.ConnectionRefused) continue;
          if (error instanceof Deno.errors.ConnectionReset) continue;
          throw error;
        }
      }
    },
    send(datagram, endpoint) {
      if (isClosed || waiting.length >= SEND_LIMIT) return;
      const hostname = isDualStack && !endpoint.hostname.includes(":")
        ? `::ffff:${endpoint.hostname}`
        : endpoint.hostname;
      waiting.push({
        datagram: datagram.slice(),
        address: { transport: "udp", hostname, port: endpoint.port },
      });
      if (!isSending) void flush();
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      waiting.length = 0;
      socket.close();
    },
  };
}

function listen(hostname: string, port: number): Deno.DatagramConn {
  try {
    return Deno.listenDatagram({ transport: "udp", hostname, port });
  } catch (error) {
    // Without IPv6 in the kernel there is no "::".
    if (hostname === "::" && !(error instanceof Deno.errors.AddrInUse)) {
      return listen("0.0.0.0", port);
    }
    throw new CodedError("unavailable", `Cannot bind UDP address "${hostname}" port ${port}`, {
      cause: error,
    });
  }
}

const MAPPED_PREFIX = "::ffff:";

/** An IPv4 peer of a dual-stack socket, under its own address. */
function unmapped(source: UdpEndpoint): UdpEndpoint {
  return source.hostname.startsWith(MAPPED_PREFIX)
    ? { hostname: source.hostname.slice(MAPPED_PREFIX.length), port: source.port }
    : source;
}

/** Writes an endpoint as `host:port`, an IPv6 host in brackets. */
export function formatEndpoint(endpoint: UdpEndpoint): string {
  const host = endpoint.hostname.includes(":") ? `[${endpoint.hostname}]` : endpoint.hostname;
  return `${host}:${endpoint.port}`;
}

/**
 * Reads `host:port`; the host may be a name.
 *
 * @throws CodedError `invalidArgument` when it is malformed.
 */
export function parseEndpoint(text: string): UdpEndpoint {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  const hostname = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  const isValid = hostname !== undefined && port > 0 && port <= 65_535 &&
    (match?.[1] === undefined || parseIpv6(match[1]) !== undefined);
  if (!isValid) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read endpoint: it must be "host:port", an IPv6 host in brackets: current value is "${text}"`,
    );
  }
  return { hostname, port };
}

/** Whether a host is an address, not a name. */
export function isAddress(hostname: string): boolean {
  return parseIpv4(hostname) !== undefined || parseIpv6(hostname) !== undefined;
}
