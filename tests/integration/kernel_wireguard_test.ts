// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The kernel's WireGuard as our tunnel, and as a machine of our other tunnels. Where the kernel has
 * no module, `deno task test:vm` runs these tests in a small virtual machine.
 *
 * @module
 */

import assert from "node:assert/strict";
import { randomVirtualAddress, SERVER_ADDRESS, VIRTUAL_PORT } from "../../link/addresses.ts";
import { generateKey } from "../../link/keys.ts";
import type { PeerConfig } from "../../link/peers.ts";
import type { TunnelMode } from "../../link/tunnel.ts";
import { within } from "./server_process.ts";
import {
  canMakeNetworks,
  hasKernelWireguard,
  MACHINE_PORT,
  type MachinePlace,
  makeKernelMachine,
  type Network,
  setPrivateKey,
  startTunnelProcess,
  type TunnelProcess,
  withNetwork,
} from "./tunnel_namespaces.ts";
import { ECHO_PORT, type TunnelProcessOptions } from "./tunnel_process.ts";

const isPossible = await hasKernelWireguard();
const note = isPossible ? "" : " (skipped: needs root, ip, wg and a kernel with WireGuard)";

const PORT = 50_180;
const MIB = 1024 * 1024;
const SIZE = 2 * MIB;
const DEADLINE_MS = 60_000;

/** How a machine does WireGuard. */
type MachineKind = "module" | "user";

function test(name: string, fn: () => Promise<void>): void {
  Deno.test({ name: `${name}${note}`, ignore: !isPossible, fn });
}

function serverOptions(
  { serverKey }: Network,
  mode: TunnelMode,
  peers: Readonly<Record<string, PeerConfig>>,
): TunnelProcessOptions {
  const { privateKey } = serverKey;
  return { mode, privateKey, address: SERVER_ADDRESS, port: PORT, peers };
}

function peerOf({ key, address }: MachinePlace): PeerConfig {
  return { publicKey: key.publicKey, allowedIp: address };
}

/** The first machine of a network. */
function firstOf({ machines }: Network): MachinePlace {
  const [machine] = machines;
  assert.ok(machine !== undefined);
  return machine;
}

/** A machine on which something echoes. */
interface RunningMachine extends AsyncDisposable {
  /** Gets the server as a new peer, and goes there or, without an endpoint, waits for it. */
  meet(endpoint?: string): Promise<void>;
  /** Sends to the server and checks what comes back. */
  send(size: number): Promise<void>;
}

/** Starts a machine that has no peer yet. */
async function startMachine(network: Network, kind: MachineKind): Promise<RunningMachine> {
  const machine = firstOf(network);
  const { publicKey } = network.serverKey;
  const { privateKey } = machine.key;
  const own = { privateKey, address: machine.address, port: MACHINE_PORT, peers: {} };
  const set = kind === "user" ? undefined : await makeKernelMachine(machine);
  const tunnel = await startTunnelProcess(
    machine.namespace,
    { ...own, mode: kind === "user" ? "user" : "none" },
  );
  return {
    async meet(endpoint) {
      if (set === undefined) {
        const way = endpoint === undefined ? {} : { endpoint, keepaliveSeconds: 25 };
        const config = { publicKey, allowedIp: SERVER_ADDRESS, ...way };
        await tunnel.ask({ do: "remove", peer: "server" });
        await tunnel.ask({ do: "put", peer: "server", config });
      } else {
        const way = endpoint === undefined ? [] : [
          ...["endpoint", endpoint, "persistent-keepalive", "25"],
        ];
        await set("peer", publicKey, "remove");
        await set("peer", publicKey, "allowed-ips", `${SERVER_ADDRESS}/128`, ...way);
      }
    },
    send: async (size) =>
      void await tunnel.ask({ do: "send", address: SERVER_ADDRESS, port: ECHO_PORT, size }),
    [Symbol.asyncDispose]: () => tunnel.kill(),
  };
}

/** Starts a server and a machine side by side. */
function startBoth(
  network: Network,
  mode: TunnelMode,
  kind: MachineKind,
): Promise<[TunnelProcess, RunningMachine]> {
  return Promise.all([
    startTunnelProcess(network.server, serverOptions(network, mode, {})),
    startMachine(network, kind),
  ]);
}

async function sendTo(
  tunnel: TunnelProcess,
  { address }: MachinePlace,
  size = SIZE,
): Promise<void> {
  const { milliseconds = 0 } = await tunnel.ask({ do: "send", address, port: ECHO_PORT, size });
  console.log(`  ${size / MIB} MiB each way from the server: ${milliseconds} ms`);
}

async function statsOf(tunnel: TunnelProcess, id: string) {
  const { stats } = await tunnel.ask({ do: "stats" });
  const found = stats?.[id];
  assert.ok(found !== undefined);
  return found;
}

async function untilHandshake(tunnel: TunnelProcess, id: string, afterMs = 0): Promise<void> {
  await within(
    DEADLINE_MS,
    `peer "${id}" has shaken hands`,
    async () => (await statsOf(tunnel, id)).lastHandshakeMs > afterMs,
  );
}

const PAIRS: readonly (readonly [TunnelMode, MachineKind])[] = [
  ["kernel", "module"],
  ["kernel", "user"],
  ["user", "module"],
  ["tun", "module"],
];

for (const [mode, kind] of PAIRS) {
  test(`mode ${mode} and a machine of kind ${kind} find each other, whoever begins`, () =>
    withNetwork(1, async (network) => {
      const machine = firstOf(network);
      const [started, client] = await startBoth(network, mode, kind);
      await using server = started;
      await using _machine = client;
      assert.equal(server.port, PORT);
      await server.ask({ do: "put", peer: "m", config: peerOf(machine) });
      await client.meet(`${machine.serverHost}:${PORT}`);
      await client.send(SIZE);
      await sendTo(server, machine);
      const stats = await statsOf(server, "m");
      assert.equal(stats.publicKey, machine.key.publicKey);
      assert.equal(stats.endpoint, `${machine.host}:${MACHINE_PORT}`);
      assert.ok(Math.abs(stats.lastHandshakeMs - Date.now()) < DEADLINE_MS);
      assert.ok(stats.receivedBytes > 2 * SIZE && stats.sentBytes > 2 * SIZE);

      await server.ask({ do: "remove", peer: "m" });
      await client.meet();
      const config = { ...peerOf(machine), endpoint: stats.endpoint };
      await server.ask({ do: "put", peer: "m", config });
      // Nobody sends anything: the peer that was put is gone to by itself.
      await untilHandshake(server, "m");
      await sendTo(server, machine);
      await client.send(SIZE);
    }));
}

test("mode kernel finds its machines again after it was killed", () =>
  withNetwork(1, async (network) => {
    const machine = firstOf(network);
    const [first, client] = await startBoth(network, "kernel", "module");
    await using _machine = client;
    await first.ask({ do: "put", peer: "m", config: peerOf(machine) });
    await client.meet(`${machine.serverHost}:${PORT}`);
    await client.send(MIB);
    const before = await statsOf(first, "m");
    await first.kill();
    assert.ok(await network.server.succeeds("ip", "link", "show", "siderolink"));
    const { endpoint: lastEndpoint } = before;
    await using second = await startTunnelProcess(
      network.server,
      serverOptions(network, "kernel", { m: { ...peerOf(machine), lastEndpoint } }),
    );
    await untilHandshake(second, "m", before.lastHandshakeMs);
    await sendTo(second, machine, MIB);
    await client.send(MIB);
    // What the machine's packets have told counts more than what is remembered, not than what is
    // given.
    const remembered = { ...peerOf(machine), lastEndpoint: "192.0.2.7:10" };
    await second.ask({ do: "put", peer: "m", config: remembered });
    assert.equal((await statsOf(second, "m")).endpoint, lastEndpoint);
    const given = { ...remembered, endpoint: "192.0.2.7:9" };
    await second.ask({ do: "put", peer: "m", config: given });
    assert.equal((await statsOf(second, "m")).endpoint, "192.0.2.7:9");
    await second.ask({ do: "close" });
    assert.ok(!await network.server.succeeds("ip", "link", "show", "siderolink"));
  }));

test("the other modes start after mode kernel was killed", () =>
  withNetwork(1, async (network) => {
    const machine = firstOf(network);
    await using client = await startMachine(network, "module");
    const peers = { m: peerOf(machine) };
    for (const mode of ["tun", "user"] as const) {
      const killed = await startTunnelProcess(
        network.server,
        serverOptions(network, "kernel", peers),
      );
      await killed.kill();
      const options = serverOptions(network, mode, peers);
      if (mode === "user") {
        // Without FFI it cannot remove the interface itself, and says what has to be done.
        const starting = startTunnelProcess(network.server, options);
        await assert.rejects(starting, /ip link delete siderolink/);
        await network.server.run("ip", "link", "delete", "siderolink");
      }
      await using _server = await startTunnelProcess(network.server, options);
      await client.meet(`${machine.serverHost}:${PORT}`);
      await client.send(MIB);
    }
  }));

test("mode kernel carries WireGuard over gRPC, also when the stream comes again", () =>
  withNetwork(1, async (network) => {
    const machine = firstOf(network);
    const endpoint = `[${randomVirtualAddress()}]:${VIRTUAL_PORT}`;
    const peers = { m: { ...peerOf(machine), endpoint } };
    const grpcPort = 9000;
    await using server = await startTunnelProcess(
      network.server,
      { ...serverOptions(network, "kernel", peers), grpcPort },
    );
    const { publicKey } = network.serverKey;
    let lastHandshakeMs = 0;
    for (let boot = 0; boot < 2; boot++) {
      await using client = await startTunnelProcess(machine.namespace, {
        mode: "user",
        privateKey: machine.key.privateKey,
        address: machine.address,
        port: MACHINE_PORT,
        peers: {
          server: { publicKey, allowedIp: SERVER_ADDRESS, endpoint, keepaliveSeconds: 25 },
        },
        overGrpc: { hostname: machine.serverHost, port: grpcPort, endpoint },
      });
      await untilHandshake(server, "m", lastHandshakeMs);
      await client.ask({ do: "send", address: SERVER_ADDRESS, port: ECHO_PORT, size: MIB });
      await sendTo(server, machine, MIB);
      const stats = await statsOf(server, "m");
      assert.equal(stats.endpoint, endpoint);
      lastHandshakeMs = stats.lastHandshakeMs;
    }
    // Nothing came over UDP: the kernel knows only loopback.
    const endpoints = await network.server.run("wg", "show", "siderolink", "endpoints");
    assert.match(endpoints, /\t127\.0\.0\.1:\d+\n$/);
  }));

const OTHER_ADDRESS = "fd00:1::1";

test("mode kernel keeps machines apart on a host that forwards", () =>
  withNetwork(2, async (network) => {
    const [first, second] = network.machines;
    assert.ok(first !== undefined && second !== undefined);
    const { server: host, serverKey } = network;
    await host.run("sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding");
    await host.run("ip", "addr", "add", `${OTHER_ADDRESS}/128`, "dev", "lo");
    await using _server = await startTunnelProcess(
      host,
      serverOptions(network, "kernel", { first: peerOf(first), second: peerOf(second) }),
    );
    for (const machine of [first, second]) {
      const set = await makeKernelMachine(machine, "::/0");
      const endpoint = ["endpoint", `${machine.serverHost}:${PORT}`, "persistent-keepalive", "25"];
      await set("peer", serverKey.publicKey, "allowed-ips", "::/0", ...endpoint);
    }
    const reaches = (address: string): Promise<boolean> =>
      first.namespace.succeeds("ping", "-6", "-c", "1", "-W", "3", address);
    for (const machine of [first, second]) {
      await within(
        DEADLINE_MS,
        "a machine reaches the server",
        () => machine.namespace.succeeds("ping", "-6", "-c", "1", "-W", "3", SERVER_ADDRESS),
      );
    }
    assert.ok(!await reaches(second.address));
    assert.ok(!await reaches(OTHER_ADDRESS));
    // It is the filter that does it: without it the host forwards, and answers.
    await host.run("tc", "qdisc", "del", "dev", "siderolink", "clsact");
    assert.ok(await reaches(second.address));
    assert.ok(await reaches(OTHER_ADDRESS));
  }));

test("mode kernel says what is in its way", () =>
  withNetwork(1, async (network) => {
    const host = network.server;
    const options = serverOptions(network, "kernel", {});
    const link = ["ip", "link", "add", "siderolink", "type"];
    await host.run(...link, "veth", "peer", "name", "other");
    await assert.rejects(startTunnelProcess(host, options), /kind "veth" that is not ours/);
    await host.run("ip", "link", "delete", "siderolink");

    // Another program's WireGuard: one with a key, and not with ours.
    await host.run(...link, "wireguard");
    await setPrivateKey(host, "siderolink", generateKey().privateKey);
    await assert.rejects(startTunnelProcess(host, options), /kind "wireguard" that is not ours/);
    await host.run("ip", "link", "delete", "siderolink");

    // One whose maker did not come further than making it.
    await host.run(...link, "wireguard");
    {
      await using _server = await startTunnelProcess(host, options);
      const other = { ...options, port: PORT + 1 };
      await assert.rejects(startTunnelProcess(host, other), /another process of this host has it/);
    }
    await host.run("ip", "link", "delete", "siderolink");

    const ipv6Off = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
    await host.run("sh", "-c", `echo 1 > ${ipv6Off}`);
    await assert.rejects(startTunnelProcess(host, options), /IPv6 is off/);
    await host.run("sh", "-c", `echo 0 > ${ipv6Off}`);

    await using _holder = await startTunnelProcess(host, { ...options, mode: "user" });
    await assert.rejects(startTunnelProcess(host, options), /UDP port 50180.*is taken/);
    assert.ok(!await host.succeeds("ip", "link", "show", "siderolink"));
  }));

const canMake = await canMakeNetworks();

Deno.test({
  name: `mode kernel says what it lacks${canMake ? "" : " (skipped: needs root and ip)"}`,
  ignore: !canMake,
  fn: () =>
    withNetwork(0, async (network) => {
      const options = serverOptions(network, "kernel", {});
      const dropped = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"];
      await assert.rejects(
        startTunnelProcess(network.server, options, ...dropped),
        /needs the capability CAP_NET_ADMIN/,
      );
      if (isPossible) return;
      await assert.rejects(
        startTunnelProcess(network.server, options),
        /this kernel has no WireGuard: load its module \("modprobe wireguard"/,
      );
    }),
});

test("mode kernel holds thousands of peers, and starts again soon after it was killed", () =>
  withNetwork(1, async (network) => {
    const machine = firstOf(network);
    const host = network.server;
    const options = serverOptions(network, "kernel", { m: peerOf(machine) });
    const server = await startTunnelProcess(host, options);
    const count = 2000;
    const { milliseconds: putMs } = await server.ask({ do: "putMany", count });
    const { stats = {}, milliseconds: statsMs } = await server.ask({ do: "stats" });
    const listed = async (): Promise<Set<string>> =>
      new Set((await host.run("wg", "show", "siderolink", "peers")).trim().split("\n"));
    const keys = await listed();
    assert.equal(Object.keys(stats).length, count + 1);
    assert.deepEqual(new Set(Object.values(stats).map(({ publicKey }) => publicKey)), keys);

    // The state says who is there: what was taken away by hand comes back with the next look.
    const { publicKey } = machine.key;
    await host.run("wg", "set", "siderolink", "peer", publicKey, "remove");
    assert.ok(!(await listed()).has(publicKey));
    await server.ask({ do: "stats" });
    assert.ok((await listed()).has(publicKey));
    await server.ask({ do: "remove", peer: "m" });
    assert.ok(!(await listed()).has(publicKey));

    await server.kill();
    const killedMs = performance.now();
    await using second = await startTunnelProcess(host, options);
    const startMs = performance.now() - killedMs;
    console.log(
      `  ${count} peers: put ${putMs?.toFixed()} ms, stats ${statsMs?.toFixed()} ms, ` +
        `a new process in their place ${startMs.toFixed()} ms`,
    );
    assert.deepEqual(await listed(), new Set([publicKey]));

    await host.run("ip", "link", "delete", "siderolink");
    await assert.rejects(second.ask({ do: "stats" }), /the interface is gone/);
    const { error, failed } = await second.next();
    assert.match(`${error}${failed}`, /the interface is gone/);
  }));
