// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Thousands of machines that do nothing but keep their tunnel, for `tunnel_scale_bench.ts`: each has
 * a socket, a key and a WireGuard core of its own.
 *
 * @module
 */

import {
  addressKey,
  ipv6Bytes,
  randomNodeAddress,
  secureRandom,
  SERVER_ADDRESS,
} from "../../link/addresses.ts";
import { generateKey, keyBytes } from "../../link/keys.ts";
import {
  checksum,
  IPV6_HEADER_SIZE,
  PROTOCOL_ICMPV6,
  writeIpv6Header,
} from "../../link/net/ipv6.ts";
import { steadyClock, TimerQueue } from "../../link/timers.ts";
import { bindUdp, parseEndpoint } from "../../link/udp.ts";
import { WireguardCore } from "../../link/wireguard/core.ts";
import { localIdentity } from "../../link/wireguard/handshake.ts";
import type { Peer } from "../../link/wireguard/peer.ts";
import { serveLines } from "./line_process.ts";
import type { KnownPeer } from "./tunnel_server.ts";

/** The interval that siderolink sets on machines, in ms. */
const KEEPALIVE_MS = 25_000;
/** A ping that was not answered in this time goes out again, as a user's would, in ms. */
const PING_MS = 500;
/** How often all machines are looked at, in ms. */
const LOOK_MS = 10;

/** What the program is asked for. */
export type MachinesRequest =
  | { readonly kind: "make"; readonly count: number }
  /** All come to a server, spread over a time. */
  | {
    readonly kind: "connect";
    readonly publicKey: string;
    readonly endpoint: string;
    readonly spreadMs: number;
  }
  /** Waits until all have a handshake and an answered ping that are younger than this question. */
  | { readonly kind: "await"; readonly limitMs: number };

/** When the machines were back. */
export interface Return {
  readonly lost: number;
  /** When half of them and when the last was, in ms of the epoch. */
  readonly halfMs: number;
  readonly lastMs: number;
}

interface Machine {
  readonly core: WireguardCore;
  readonly known: KnownPeer;
  readonly address: Uint8Array;
  peer: Peer | undefined;
  answers: number;
}

const SERVER = ipv6Bytes(SERVER_ADDRESS);
const SERVER_KEY = addressKey(SERVER);
const timers = new TimerQueue(steadyClock);
const nowMs = (): number => steadyClock.nowMs();
const machines: Machine[] = [];

function make(): Machine {
  const key = generateKey();
  const text = randomNodeAddress();
  const address = ipv6Bytes(text);
  const bind = bindUdp("127.0.0.1", 0);
  const core = new WireguardCore({
    identity: localIdentity(keyBytes(key.privateKey, "private key")),
    address,
    timers,
    nowMs,
    wallMs: Date.now,
    random: secureRandom,
    send: (datagram, endpoint) => bind.send(datagram, endpoint),
    deliver: () => machine.answers++,
    defer: (run) => void setImmediate(run),
  });
  void bind.run((datagram, source) => core.receive(datagram, source));
  const known = { publicKey: key.publicKey, address: text };
  const machine: Machine = { core, known, address, peer: undefined, answers: 0 };
  return machine;
}

function connect(publicKey: string, endpoint: string, spreadMs: number): void {
  for (const [index, machine] of machines.entries()) {
    const peer = machine.core.addPeer(keyBytes(publicKey, "public key"), SERVER);
    if (peer === undefined) throw new Error("The server's key is a weak point");
    machine.peer = peer;
    peer.endpoint = parseEndpoint(endpoint);
    const start = timers.create(() => peer.setKeepalive(KEEPALIVE_MS));
    start.set(nowMs() + spreadMs * index / machines.length);
  }
}

function ping({ core, address }: Machine): void {
  const packet = new Uint8Array(IPV6_HEADER_SIZE + 8);
  writeIpv6Header(packet, PROTOCOL_ICMPV6, address, SERVER);
  packet[IPV6_HEADER_SIZE] = 128;
  const sum = checksum(packet);
  packet[IPV6_HEADER_SIZE + 2] = sum >> 8;
  packet[IPV6_HEADER_SIZE + 3] = sum & 0xff;
  core.sendPacket(packet, SERVER_KEY);
}

async function awaitAll(limitMs: number): Promise<Return> {
  const sinceMs = nowMs();
  const waiting = new Map(machines.map((machine) => [machine, -Infinity]));
  const before = new Map(machines.map((machine) => [machine, machine.answers]));
  const times: number[] = [];
  while (waiting.size > 0 && nowMs() - sinceMs < limitMs) {
    await steadyClock.sleep(LOOK_MS);
    for (const [machine, askedMs] of waiting) {
      if ((machine.peer?.lastHandshakeMs ?? 0) < sinceMs) continue;
      if (askedMs > 0 && machine.answers > (before.get(machine) ?? 0)) {
        times.push(Date.now());
        waiting.delete(machine);
      } else if (nowMs() - askedMs > PING_MS) {
        before.set(machine, machine.answers);
        waiting.set(machine, nowMs());
        ping(machine);
      }
    }
  }
  return {
    lost: waiting.size,
    halfMs: times[Math.floor(times.length / 2)] ?? NaN,
    lastMs: times.at(-1) ?? NaN,
  };
}

await serveLines(async (message) => {
  const request = message as MachinesRequest;
  switch (request.kind) {
    case "make":
      for (let i = 0; i < request.count; i++) machines.push(make());
      return machines.map(({ known }) => known);
    case "connect":
      return connect(request.publicKey, request.endpoint, request.spreadMs);
    case "await":
      return await awaitAll(request.limitMs);
  }
});
Deno.exit(0);
