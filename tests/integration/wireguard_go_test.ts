// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The tunnel against Debian's wireguard-go: a process in a network namespace of its own, joined by
 * a pair of virtual Ethernet links, with the kernel's TCP behind it.
 *
 * @module
 */

import assert from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { generateKey, type KeyPair } from "../../link/keys.ts";
import { acceptOne, assertSame, echo, pattern, readAll, writeAll } from "../../link/testing.ts";
import { startTunnel, type Tunnel } from "../../link/tunnel.ts";

const MACHINE_ADDRESS = "fdae:41e4:649b:9303::5";
const PEER_PROGRAM = new URL("./wireguard_go_peer.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
const SIZE = 8 * 1024 * 1024;

async function has(command: string, argument: string): Promise<boolean> {
  try {
    return (await new Deno.Command(command, {
      args: [argument],
      stdout: "null",
      stderr: "null",
      env: { LOG_LEVEL: "silent" },
    }).output()).success;
  } catch {
    return false;
  }
}

const isRoot = Deno.build.os === "linux" && Deno.uid() === 0;
const isPossible = isRoot && await has("wireguard-go", "--version") &&
  await has("ip", "-V") && await has("wg", "--version") && await canMakeNamespace();
const note = isPossible ? "" : " (skipped: needs root, wireguard-go, wg and ip)";

async function canMakeNamespace(): Promise<boolean> {
  const name = `bt-probe-${Deno.pid}`;
  const isMade = (await run("ip", "netns", "add", name)).success;
  if (isMade) await run("ip", "netns", "del", name);
  return isMade;
}

function run(command: string, ...args: string[]): Promise<Deno.CommandOutput> {
  return new Deno.Command(command, { args, stdout: "piped", stderr: "piped" }).output();
}

async function must(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await run(command, ...args);
  assert.ok(success, `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** A wireguard-go in its namespace. */
interface Peer {
  /** Runs a command there. */
  readonly inside: (...args: string[]) => Deno.Command;
  /** Our end of the pair of links. */
  readonly outer: string;
  /** Our address as it sees us, and its address as we see it. */
  readonly hostAddress: string;
  readonly peerAddress: string;
  /** Changes its configuration as `wg set` does. */
  set(...args: string[]): Promise<void>;
}

async function withPeer(key: KeyPair, use: (peer: Peer) => Promise<void>): Promise<void> {
  // Names are unique to the process and short enough for a link.
  const id = `${Deno.pid % 100_000}`;
  const [namespace, outer, inner, link] = [`bt${id}`, `bo${id}`, `bi${id}`, `bw${id}`];
  const third = 1 + Deno.pid % 250;
  const hostAddress = `10.213.${third}.1`;
  const peerAddress = `10.213.${third}.2`;
  const inside = (...args: string[]): Deno.Command =>
    new Deno.Command("ip", {
      args: ["netns", "exec", namespace, ...args],
      stdout: "piped",
      stderr: "piped",
    });
  const within = (...args: string[]): Promise<void> =>
    must("ip", "netns", "exec", namespace, ...args);
  const keyFile = await Deno.makeTempFile();
  let daemon: Deno.ChildProcess | undefined;
  try {
    await Deno.writeTextFile(keyFile, key.privateKey);
    await must("ip", "netns", "add", namespace);
    await must("ip", "link", "add", outer, "type", "veth", "peer", "name", inner);
    await must("ip", "link", "set", inner, "netns", namespace);
    await must("ip", "addr", "add", `${hostAddress}/24`, "dev", outer);
    await must("ip", "link", "set", outer, "up");
    await within("ip", "addr", "add", `${peerAddress}/24`, "dev", inner);
    await within("ip", "link", "set", inner, "up");
    await within("ip", "link", "set", "lo", "up");
    daemon = new Deno.Command("ip", {
      args: ["netns", "exec", namespace, "wireguard-go", "-f", link],
      stdout: "null",
      stderr: "null",
    }).spawn();
    const deadline = Date.now() + 20_000;
    while (!(await inside("wg", "set", link, "private-key", keyFile).output()).success) {
      assert.ok(Date.now() < deadline, "wireguard-go does not come up");
    }
    await within("ip", "addr", "add", `${MACHINE_ADDRESS}/128`, "dev", link, "nodad");
    await within("ip", "link", "set", link, "mtu", "1280", "up");
    await within("ip", "-6", "route", "add", `${SERVER_ADDRESS}/128`, "dev", link);
    await use({
      inside,
      outer,
      hostAddress,
      peerAddress,
      set: (...args) => within("wg", "set", link, ...args),
    });
  } finally {
    daemon?.kill("SIGTERM");
    await daemon?.status;
    await run("ip", "netns", "del", namespace);
    await run("ip", "link", "del", outer);
    await Deno.remove(keyFile);
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
    String(SIZE),
  ).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  assert.equal(new TextDecoder().decode(stdout), "same\n");
  await serving;
  listener.close();
}

/** We send to the peer and check what comes back. */
async function sendToPeer(tunnel: Tunnel, peer: Peer): Promise<void> {
  const child = program(peer, "echo", "50000").spawn();
  try {
    const output = child.stdout.getReader();
    assert.equal(new TextDecoder().decode((await output.read()).value), "ready\n");
    const client = await tunnel.net.dial(MACHINE_ADDRESS, 50_000);
    const data = pattern(SIZE);
    const received = readAll(client);
    await writeAll(client, data);
    await client.closeWrite();
    assertSame(await received, data);
    client.close();
    output.releaseLock();
  } finally {
    child.kill("SIGTERM");
    await Promise.all([child.stdout.cancel(), child.stderr.cancel(), child.status]);
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

/** A namespace for the server, with our end of the links in it. */
async function withServerNamespace(
  { outer, hostAddress }: Peer,
  use: (command: (...args: string[]) => Deno.Command) => Promise<void>,
): Promise<void> {
  const namespace = `bs${Deno.pid % 100_000}`;
  await must("ip", "netns", "add", namespace);
  try {
    await must("ip", "link", "set", outer, "netns", namespace);
    await must("ip", "-n", namespace, "addr", "add", `${hostAddress}/24`, "dev", outer);
    await must("ip", "-n", namespace, "link", "set", outer, "up");
    await must("ip", "-n", namespace, "link", "set", "lo", "up");
    await use((...args) =>
      new Deno.Command("ip", {
        args: ["netns", "exec", namespace, ...args],
        stdin: "piped",
        stdout: "piped",
      })
    );
  } finally {
    await run("ip", "netns", "del", namespace);
  }
}

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
        const sent = await program(peer, "send", SERVER_ADDRESS, "8091", String(SIZE)).output();
        assert.ok(sent.success, new TextDecoder().decode(sent.stderr));
        const echoing = program(peer, "echo", "50000").spawn();
        const ready = echoing.stdout.getReader();
        assert.equal(new TextDecoder().decode((await ready.read()).value), "ready\n");
        ready.releaseLock();
        await input.write(new Uint8Array(1));
        assert.equal((await output.read()).value, "same\n");
        await input.close();
        assert.equal((await output.read()).value, "closed\n");
        await output.cancel();
        echoing.kill("SIGTERM");
        await Promise.all([echoing.stdout.cancel(), echoing.stderr.cancel(), echoing.status]);
        assert.ok((await child.status).success);
      }));
  },
});
