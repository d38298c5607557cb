// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * WireGuard packets that come and go over something else than UDP.
 *
 * Such a way has an endpoint name as a UDP peer has an address; the device treats both the same.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { formatEndpoint, parseEndpoint, type UdpEndpoint } from "./udp.ts";

/** Where the device sends the packets of one endpoint. */
export interface PacketSink {
  /** Takes a packet, or drops it when too many wait; the memory is given away. */
  send(packet: Uint8Array): void;
  /** The device lets go of the stream: another one took its place, or the device was closed. */
  end(reason: CodedError): void;
}

/** The other end of a stream, in the hands of whoever attached it. */
export interface AttachedStream {
  /** Hands a packet to the device. */
  receive(packet: Uint8Array): void;
  /** The stream is gone. */
  detach(): void;
}

/** The device's side. */
export interface PacketStreams {
  /**
   * Attaches a stream under an endpoint name, `[address]:port`. The newest stream of a name wins;
   * the one before is ended with the code `aborted`.
   */
  attach(endpoint: string, sink: PacketSink): AttachedStream;
}

/** Streams together with the way to them. */
export interface PacketRoutes extends PacketStreams {
  /**
   * Sends a packet, whose memory may be used again, if a stream has the endpoint; returns whether one
   * has.
   */
  send(packet: Uint8Array, endpoint: UdpEndpoint): boolean;
  close(): void;
}

/** Makes the table of a device's streams. */
export function createPacketRoutes(
  receive: (packet: Uint8Array, source: UdpEndpoint) => void,
): PacketRoutes {
  const sinks = new Map<string, PacketSink>();
  return {
    attach(name, sink) {
      const source = parseEndpoint(name);
      const key = formatEndpoint(source);
      sinks.get(key)?.end(new CodedError("aborted", "peer replaced"));
      sinks.set(key, sink);
      return {
        receive(packet) {
          if (sinks.get(key) === sink) receive(packet, source);
        },
        detach() {
          if (sinks.get(key) === sink) sinks.delete(key);
        },
      };
    },
    send(packet, endpoint) {
      // Most devices have no streams at all and should not pay for them.
      if (sinks.size === 0) return false;
      const sink = sinks.get(formatEndpoint(endpoint));
      sink?.send(packet.slice());
      return sink !== undefined;
    },
    close() {
      for (const sink of sinks.values()) {
        sink.end(new CodedError("unavailable", "Cannot go on: the tunnel was closed"));
      }
      sinks.clear();
    },
  };
}
