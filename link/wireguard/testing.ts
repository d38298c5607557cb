// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Two WireGuard cores and a virtual line between them, for tests.
 *
 * @module
 */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { ipv6Bytes, secureRandom } from "../addresses.ts";
import { IPV6_HEADER_SIZE, writeIpv6Header } from "../net/ipv6.ts";
import { type VirtualClock, virtualClock, virtualNetwork } from "../testing_network.ts";
import { TimerQueue } from "../timers.ts";
import { WireguardCore } from "./core.ts";
import { localIdentity } from "./handshake.ts";
import { COOKIE_REPLY, INITIATION, messageType, RESPONSE, TRANSPORT } from "./messages.ts";
import type { Peer } from "./peer.ts";

/** One of two cores. */
export interface End {
  readonly core: WireguardCore;
  readonly publicKey: Uint8Array;
  readonly address: Uint8Array;
  readonly addressKey: string;
  readonly port: number;
  readonly delivered: Uint8Array[];
  /** The other end, as this one knows it. */
  peer: Peer;
}

/** Two cores and what lies between them. */
export interface Line {
  readonly clock: VirtualClock;
  readonly a: End;
  readonly b: End;
  /** Messages in the order in which they were sent, for example "a initiation". */
  readonly log: string[];
  /** Whether a message arrives. */
  filter: (datagram: Uint8Array, sender: "a" | "b") => boolean;
  /** Whether initiations wait until the test works them off. */
  isHeld: boolean;
  forget(): void;
}

const NAMES: Readonly<Record<number, string>> = {
  [INITIATION]: "initiation",
  [RESPONSE]: "response",
  [COOKIE_REPLY]: "cookie",
  [TRANSPORT]: "data",
};

/** Two cores; `a` knows where `b` is, not the other way round. */
export async function withLine(run: (line: Line) => Promise<void>): Promise<void> {
  const clock = virtualClock();
  const network = virtualNetwork(clock, 1);
  const stops: (() => void)[] = [];
  const start = (hostname: string, text: string): Omit<End, "peer"> => {
    const identity = localIdentity(secureRandom(32));
    const address = ipv6Bytes(text);
    const timers = new TimerQueue(clock);
    const bind = network.bind(hostname);
    const delivered: Uint8Array[] = [];
    const core = new WireguardCore({
      identity,
      address,
      timers,
      nowMs: () => clock.nowMs(),
      wallMs: () => clock.nowMs(),
      random: secureRandom,
      send: (datagram, endpoint) => bind.send(datagram, endpoint),
      deliver: (packet) => void delivered.push(Uint8Array.from(packet)),
      defer: (todo) => void (line.isHeld || setImmediate(todo)),
    });
    void bind.run((datagram, source) => core.receive(datagram, source));
    stops.push(() => timers.close(), () => bind.close());
    const addressKey = String.fromCharCode(...pairs(address));
    return {
      core,
      publicKey: identity.publicKey,
      address,
      addressKey,
      port: bind.port,
      delivered,
    };
  };
  const a = start("a", "fdae::a");
  const b = start("b", "fdae::b");
  const aPeer = a.core.addPeer(b.publicKey, b.address);
  const bPeer = b.core.addPeer(a.publicKey, a.address);
  assert.ok(aPeer !== undefined && bPeer !== undefined);
  aPeer.endpoint = { hostname: "b", port: b.port };
  const line: Line = {
    clock,
    a: { ...a, peer: aPeer },
    b: { ...b, peer: bPeer },
    log: [],
    filter: () => true,
    isHeld: false,
    forget: () => void (line.log.length = 0),
  };
  network.tap = (datagram, { hostname }) => {
    const type = messageType(datagram) ?? 0;
    const name = type === TRANSPORT && datagram.length === 32 ? "keepalive" : NAMES[type];
    line.log.push(`${hostname} ${name}`);
    return line.filter(datagram, hostname === "a" ? "a" : "b");
  };
  try {
    await run(line);
  } finally {
    for (const stop of stops) stop();
  }
}

function pairs(bytes: Uint8Array): number[] {
  return Array.from(
    { length: 8 },
    (_, i) => ((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0),
  );
}

/** A packet from one end to the other; the marker is its first byte of content. */
export function packet(from: End, to: End, marker: number, size = 60): Uint8Array {
  const bytes = new Uint8Array(size);
  writeIpv6Header(bytes, 59, from.address, to.address);
  bytes[IPV6_HEADER_SIZE] = marker;
  return bytes;
}

/** Sends a packet. */
export function send(from: End, to: End, marker = 0): void {
  assert.ok(from.core.sendPacket(packet(from, to, marker), to.addressKey));
}

/** The markers of the packets that came to an end, which forgets them. */
export function markers(end: End): number[] {
  return end.delivered.splice(0).map((bytes) => bytes[IPV6_HEADER_SIZE] ?? -1);
}
