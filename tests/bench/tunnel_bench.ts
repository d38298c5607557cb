// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The tunnel beside wireguard-go in one run: a peer on wireguard-go and the kernel's TCP echoes
 * bytes with a server that is wireguard-go too, then our user net, then our TUN interface.
 *
 * `deno run -A tests/bench/tunnel_bench.ts [MIB] [ROUNDS]`, as root. What counts is the ratio: each
 * round measures all three, one right after the other.
 *
 * @module
 */

import { silentLogger } from "../../base/log.ts";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { generateKey } from "../../link/keys.ts";
import { echo } from "../../link/testing.ts";
import { startTunnel, type TunnelMode } from "../../link/tunnel.ts";
import { endChild } from "../child_process.ts";
import {
  isPossible,
  MACHINE_ADDRESS,
  must,
  note,
  type Peer,
  startWireguardGo,
  withPeer,
} from "../integration/wireguard_go.ts";
import { cpuMs } from "./figures.ts";

const SIZE = Number(Deno.args[0] ?? 32) * 1024 * 1024;
const ROUNDS = Number(Deno.args[1] ?? 3);
const PORT = 8091;
const UDP_PORT = 50_187;
const PROGRAM = new URL("../integration/wireguard_go_peer.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

const server = generateKey();
const machine = generateKey();

interface Figure {
  readonly megabits: number;
  readonly cpuSeconds: number;
}

/** The peer comes to an endpoint, sends everything and gets it back. */
async function measure(peer: Peer, endpoint: string, pid: number): Promise<Figure> {
  await peer.set("peer", server.publicKey, "remove");
  const allowed = ["allowed-ips", `${SERVER_ADDRESS}/128`];
  await peer.set("peer", server.publicKey, ...allowed, "endpoint", endpoint);
  const program = [Deno.execPath(), "run", "-A", "--config", CONFIG, PROGRAM];
  const echoed = (size: number): Promise<Deno.CommandOutput> =>
    peer.inside(...program, "send", SERVER_ADDRESS, String(PORT), String(size)).output();
  // The first exchange brings up the tunnel and warms the code.
  if (!(await echoed(1024 * 1024)).success) throw new Error(`Cannot reach ${endpoint}`);
  const cpuBefore = await cpuMs(pid);
  const startMs = performance.now();
  if (!(await echoed(SIZE)).success) throw new Error(`Cannot transfer over ${endpoint}`);
  const seconds = (performance.now() - startMs) / 1000;
  const cpuSeconds = (await cpuMs(pid) - cpuBefore) / 1000;
  return { megabits: SIZE * 8 / 1e6 / seconds, cpuSeconds };
}

async function measureOurs(peer: Peer, mode: TunnelMode): Promise<Figure> {
  const tunnel = await startTunnel({
    privateKey: server.privateKey,
    port: 0,
    address: SERVER_ADDRESS,
    mode,
    log: silentLogger,
  });
  try {
    await tunnel.peers.put("m", { publicKey: machine.publicKey, allowedIp: MACHINE_ADDRESS });
    const listener = await tunnel.net.listen(PORT);
    const serving = (async () => {
      for await (const { stream } of listener) {
        await echo(stream);
        stream.close();
      }
    })();
    const figure = await measure(peer, `${peer.hostAddress}:${tunnel.port}`, Deno.pid);
    listener.close();
    await serving;
    return figure;
  } finally {
    await tunnel.close();
  }
}

/** A server that is wireguard-go and the kernel's TCP, in this namespace. */
async function measureGo(peer: Peer, round: number): Promise<Figure> {
  // The link of the round before may take a moment to go.
  const link = `btgo${round}`;
  const keyFile = await Deno.makeTempFile();
  await Deno.writeTextFile(keyFile, server.privateKey);
  await using daemon = await startWireguardGo(link);
  const echoing = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", CONFIG, PROGRAM, "echo", String(PORT)],
    stdout: "piped",
  }).spawn();
  try {
    const port = ["listen-port", String(UDP_PORT)];
    await must("wg", "set", link, "private-key", keyFile, ...port);
    const allowed = ["allowed-ips", `${MACHINE_ADDRESS}/128`];
    await must("wg", "set", link, "peer", machine.publicKey, ...allowed);
    await must("ip", "addr", "add", `${SERVER_ADDRESS}/64`, "dev", link, "nodad");
    await must("ip", "link", "set", link, "mtu", "1280", "up");
    const output = echoing.stdout.getReader();
    await output.read();
    output.releaseLock();
    return await measure(peer, `${peer.hostAddress}:${UDP_PORT}`, daemon.pid);
  } finally {
    await Promise.all([echoing.stdout.cancel(), endChild(echoing)]);
    await Deno.remove(keyFile);
  }
}

if (!isPossible) {
  console.error(`Cannot compare${note}`);
  Deno.exit(1);
}
await withPeer(machine, async (peer) => {
  const kinds: readonly (readonly [string, (round: number) => Promise<Figure>])[] = [
    ["wireguard-go", (round) => measureGo(peer, round)],
    ["user net", () => measureOurs(peer, "user")],
    ["TUN", () => measureOurs(peer, "tun")],
  ];
  console.log("round  server        Mbit/s each way   CPU s/GiB each way");
  for (let round = 1; round <= ROUNDS; round++) {
    for (const [name, measureIt] of kinds) {
      const { megabits, cpuSeconds } = await measureIt(round);
      const perGib = cpuSeconds * 1024 ** 3 / SIZE;
      const rate = megabits.toFixed(0).padStart(15);
      console.log(`${round}      ${name.padEnd(13)} ${rate} ${perGib.toFixed(1).padStart(20)}`);
    }
  }
});
