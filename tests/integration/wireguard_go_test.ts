// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The tunnel against Debian's wireguard-go: a process in a network namespace of its own, joined by
 * a pair of virtual Ethernet links, with the kernel's TCP behind it.
 *
 * `BATUTA_TUNNEL_MIB` sets how much the peer sends first, each way; 8 by default.
 *
 * @module
 */

import assert from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { generateKey, type KeyPair } from "../../link/keys.ts";
import { acceptOne, echo, readPattern, writePattern } from "../../link/testing.ts";
import { startTunnel, type Tunnel } from "../../link/tunnel.ts";
import {
  isPossible,
  MACHINE_ADDRESS,
  note,
  type Peer,
  withPeer,
  withServerNamespace,
} from "./wireguard_go.ts";
import { endChild } from "../child_process.ts";

const PEER_PROGRAM = new URL("./wireguard_go_peer.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const MIB = 1024 * 1024;
const SIZE = 8 * MIB;
/** What the peer sends first and gets back; 1024 is the long run. */
const LARGE_SIZE = Number(Deno.env.get("BATUTA_TUNNEL_MIB") ?? 8) * MIB;
/** Far longer than a transfer pauses on a busy machine, and shorter than what nothing ends. */
const STALL_MS = 15_000;

/** Checks what a peer says of its transfer. */
function assertSteady(text: string, size: number): void {
  const [same, tookMs, longestMs] = text.trim().split(" ");
  assert.equal(same, "same");
  assert.ok(Number(longestMs) < STALL_MS, `Nothing came for ${longestMs} ms`);
  if (size > SIZE) {
    const rate = (size * 8 / 1000 / Number(tookMs)).toFixed(0);
    console.log(`${size / MIB} MiB each way at ${rate} Mbit/s, nothing came for ${longestMs} ms`);
  }
}

async function withTunnel(key: KeyPair, use: (tunnel: Tunnel) => Promise<void>): Promise<void> {
  const tunnel = await startTunnel({
    privateKey: key.privateKey,
    port: 0,
    address: SERVER_ADDRESS,
    mode: "user",
    log: silentLogger,
  });
  try {
    await use(tunnel);
  } finally {
    await tunnel.close();
  }
}

function program(peer: Peer, ...args: string[]): Deno.Command {
  return peer.inside(Deno.execPath(), "run", "-A", "--config", CONFIG, PEER_PROGRAM, ...args);
}

/** The peer sends to us and checks what comes back. */
async function sendFromPeer(tunnel: Tunnel, peer: Peer): Promise<void> {
  const listener = await tunnel.net.listen(8091);
  const serving = (async () => {
    const { stream, remoteAddress } = await acceptOne(listener);
    assert.equal(remoteAddress, MACHINE_ADDRESS);
    await echo(stream);
    stream.close();
  })();
  const { success, stdout, stderr } = await program(
    peer,
    "send",
    SERVER_ADDRESS,
    "8091",
    String(LARGE_SIZE),
  ).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  assertSteady(new TextDecoder().decode(stdout), LARGE_SIZE);
  await serving;
  listener.close();
}

/** We send to the peer and check what comes back. */
async function sendToPeer(tunnel: Tunnel, peer: Peer): Promise<void> {
  const child = program(peer, "echo", "8000").spawn();
  try {
    const output = child.stdout.getReader();
    assert.equal(new TextDecoder().decode((await output.read()).value), "ready\n");
    const client = await tunnel.net.dial(MACHINE_ADDRESS, 8000);
    await Promise.all([readPattern(client, SIZE), writePattern(client, SIZE)]);
    client.close();
    output.releaseLock();
  } finally {
    await Promise.all([child.stdout.cancel(), child.stderr.cancel(), endChild(child)]);
  }
}

Deno.test({
  name: `startTunnel() serves a wireguard-go that comes to it${note}`,
  ignore: !isPossible,
  fn: async () => {
    const server = generateKey();
    const machine = generateKey();
    await withTunnel(server, (tunnel) =>
      withPeer(machine, async (peer) => {
        await tunnel.peers.put("m", { publicKey: machine.publicKey, allowedIp: MACHINE_ADDRESS });
        const endpoint = `${peer.hostAddress}:${tunnel.port}`;
        const allowed = ["allowed-ips", `${SERVER_ADDRESS}/128`, "endpoint", endpoint];
        await peer.set("peer", server.publicKey, ...allowed, "persistent-keepalive", "25");
        await sendFromPeer(tunnel, peer);
        await sendToPeer(tunnel, peer);
        const stats = (await tunnel.peers.stats()).get("m");
        assert.ok(stats !== undefined && stats.lastHandshakeMs > 0);
        assert.ok(stats.endpoint.startsWith(`${peer.peerAddress}:`));
      }));
  },
});

Deno.test({
  name: `startTunnel() goes to a wireguard-go that waits for it${note}`,
  ignore: !isPossible,
  fn: async () => {
    const server = generateKey();
    const machine = generateKey();
    await withTunnel(server, (tunnel) =>
      withPeer(machine, async (peer) => {
        await peer.set("listen-port", "50180");
        await peer.set("peer", server.publicKey, "allowed-ips", `${SERVER_ADDRESS}/128`);
        await tunnel.peers.put("m", {
          publicKey: machine.publicKey,
          allowedIp: `${MACHINE_ADDRESS}/128`,
          endpoint: `${peer.peerAddress}:50180`,
        });
        await sendToPeer(tunnel, peer);
        await sendFromPeer(tunnel, peer);
      }));
  },
});

const canTun = isPossible && await exists("/dev/net/tun");

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}

Deno.test({
  name: `startTunnel() lets the kernel's TCP through a TUN interface${note}`,
  ignore: !canTun,
  fn: async () => {
    const server = generateKey();
    const machine = generateKey();
    await withPeer(machine, (peer) =>
      withServerNamespace(peer, async (command) => {
        const child = command(
          ...[Deno.execPath(), "run", "-A", "--config", CONFIG, PEER_PROGRAM, "tunnel"],
          ...[server.privateKey, machine.publicKey, MACHINE_ADDRESS, String(SIZE)],
        ).spawn();
        const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
        const input = child.stdin.getWriter();
        const port = Number((await output.read()).value);
        const endpoint = `${peer.hostAddress}:${port}`;
        const allowed = ["allowed-ips", `${SERVER_ADDRESS}/128`, "endpoint", endpoint];
        await peer.set("peer", server.publicKey, ...allowed, "persistent-keepalive", "25");
        const size = String(LARGE_SIZE);
        const sent = await program(peer, "send", SERVER_ADDRESS, "8091", size).output();
        assert.ok(sent.success, new TextDecoder().decode(sent.stderr));
        assertSteady(new TextDecoder().decode(sent.stdout), LARGE_SIZE);
        const echoing = program(peer, "echo", "8000").spawn();
        const ready = echoing.stdout.getReader();
        assert.equal(new TextDecoder().decode((await ready.read()).value), "ready\n");
        ready.releaseLock();
        await input.write(new Uint8Array(1));
        assertSteady((await output.read()).value ?? "", SIZE);
        await input.close();
        assert.equal((await output.read()).value, "closed\n");
        await output.cancel();
        await Promise.all([echoing.stdout.cancel(), echoing.stderr.cancel(), endChild(echoing)]);
        assert.ok((await child.status).success);
      }));
  },
});
