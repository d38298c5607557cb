// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a machine joins and stays joined: it asks the provision service with a new key in each boot,
 * keeps one WireGuard peer, and asks again when the peer has been silent for too long.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { backoffMs } from "../base/retry.ts";
import { canonicalIpv6, isTunnelAddress, parseIpv4, parseIpv6 } from "../link/addresses.ts";
import { type Device, startDevice } from "../link/device.ts";
import { generateKey, type KeyPair } from "../link/keys.ts";
import { ProvisionService } from "../proto/gen/siderolink/link_pb.ts";
import { type Channel, createChannel, createClient } from "../rpc/client.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { dialTcp } from "../rpc/tcp.ts";
import { wrapTlsClient } from "../rpc/tls.ts";
import type { Boot } from "./boot.ts";
import { effectiveUuid } from "./inventory.ts";
import { formatHostPort, type HostPort, type JoinEndpoint } from "./kernel_args.ts";
import { countCall } from "./machine_core.ts";
import { publishNetwork } from "./network.ts";
import { relayPackets } from "./packet_relay.ts";
import { META_UNIQUE_TOKEN } from "./status.ts";

/** A node gives up one call after this time. */
const PROVISION_TIMEOUT_MS = 30_000;

/** How often a node looks whether its peer is down, and when it is: 180 + 5 + 90 seconds. */
const CHECK_MS = 30_000;
const PEER_DOWN_MS = 275_000;

const KEEPALIVE_SECONDS = 25;
const BACKOFF = { initialMs: 500, maximumMs: 60_000 };

/** What a provision call says; when it changes, the node asks again at once. */
interface Identity {
  readonly endpoint: JoinEndpoint;
  readonly uuid: string;
  readonly uniqueToken: string;
}

interface Provisioned {
  readonly endpoints: readonly string[];
  /** Where packets go over gRPC; empty for UDP. */
  readonly virtualEndpoint: string;
  readonly publicKey: string;
  readonly address: string;
  readonly serverAddress: string;
}

/** Joins, and joins again, until the power goes. */
export async function keepJoined(boot: Boot): Promise<void> {
  const { core, signal } = boot;
  const key = generateKey();
  const joined: { device?: Device; address?: string } = {};
  let failures = 0;
  try {
    while (!signal.aborted) {
      await core.changed.until(() => identityOf(boot) !== undefined, signal);
      const identity = identityOf(boot);
      if (identity === undefined) continue;
      try {
        const provisioned = await provision(boot, identity, key);
        failures = 0;
        const device = await deviceFor(boot, key, provisioned, joined);
        await withRelay(
          boot,
          device,
          provisioned,
          identity,
          () => keepPeer(boot, device, provisioned, identity),
        );
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        core.log.debug("cannot join", { machine: identity.uuid, attempt: failures, error });
        boot.kernelLog.write("warn", "[talos] controller failed: siderolink.ManagerController");
        await sleepUntilChanged(boot, backoffMs(failures, BACKOFF), identity);
      }
    }
  } finally {
    boot.tunnel = undefined;
    await joined.device?.close();
  }
}

function identityOf(boot: Boot): Identity | undefined {
  const endpoint = boot.config?.server.join ?? boot.core.server.join;
  if (endpoint === undefined) return undefined;
  return {
    endpoint,
    uuid: effectiveUuid(boot),
    // The configuration's own token goes before the one in META.
    uniqueToken: boot.config?.facts.sideroLinkUniqueToken ?? boot.meta.get(META_UNIQUE_TOKEN) ?? "",
  };
}

function sameIdentity(a: Identity, b: Identity | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

async function provision(boot: Boot, identity: Identity, key: KeyPair): Promise<Provisioned> {
  const { endpoint, uuid, uniqueToken } = identity;
  const channel = provisionChannel(endpoint);
  countCall(boot.core, "Provision");
  try {
    const reply = await createClient(ProvisionService, channel).provision({
      nodeUuid: uuid,
      nodePublicKey: key.publicKey,
      nodeUniqueToken: uniqueToken,
      talosVersion: boot.version,
      ...(endpoint.joinToken === "" ? {} : { joinToken: endpoint.joinToken }),
      ...(endpoint.overGrpc ? { wireguardOverGrpc: true } : {}),
    }, { timeoutMs: PROVISION_TIMEOUT_MS, signal: boot.signal });
    if (reply.grpcPeerAddrPort !== "" && !endpoint.overGrpc) {
      throw new CodedError("failedPrecondition", "Cannot join: told to use gRPC without asking");
    }
    return {
      endpoints: unswapped(reply.serverEndpoint),
      virtualEndpoint: reply.grpcPeerAddrPort,
      publicKey: reply.serverPublicKey,
      address: canonicalIpv6(reply.nodeAddressPrefix),
      serverAddress: canonicalIpv6(reply.serverAddress),
    };
  } finally {
    channel.close();
  }
}

function provisionChannel(endpoint: JoinEndpoint): Channel {
  return createChannel({
    dial: (signal) => dialProvision(endpoint, signal),
    authority: formatHostPort(endpoint),
    scheme: endpoint.tls ? "https" : "http",
  });
}

async function dialProvision(
  { host, port, tls }: JoinEndpoint,
  signal: AbortSignal,
): Promise<ByteStream> {
  const stream = await dialTcp({ hostname: host, port, signal });
  return tls ? await wrapTlsClient(stream, verifyHost(host)) : stream;
}

/** How a server's certificate is checked: against a name, or against an address. */
export function verifyHost(
  host: string,
): { readonly serverName: string } | { readonly verifyAddress: string } {
  return isAddress(host) ? { verifyAddress: host } : { serverName: host };
}

/** Whether a host is an IP address rather than a name. */
export function isAddress(host: string): boolean {
  return parseIpv4(host) !== undefined || parseIpv6(host) !== undefined;
}

/** A list goes over the wire with its first and last elements exchanged. */
function unswapped(endpoints: readonly string[]): string[] {
  const [first, last] = [endpoints[0], endpoints.at(-1)];
  if (first === undefined || last === undefined || endpoints.length === 1) return [...endpoints];
  return [last, ...endpoints.slice(1, -1), first];
}

/** The device of this boot, with the machine's address; another address needs another device. */
async function deviceFor(
  boot: Boot,
  key: KeyPair,
  { address, serverAddress, virtualEndpoint }: Provisioned,
  joined: { device?: Device; address?: string },
): Promise<Device> {
  const { core } = boot;
  if (joined.device !== undefined && joined.address === address) return joined.device;
  boot.tunnel = undefined;
  core.changed.fire();
  await joined.device?.close();
  const device = await startDevice({
    privateKey: key.privateKey,
    port: 0,
    address,
    log: core.log,
    ...(core.bindAddress === undefined ? {} : { bindAddress: core.bindAddress }),
  });
  joined.device = device;
  joined.address = address;
  boot.tunnel = { address, serverAddress, net: device.net, isOverGrpc: virtualEndpoint !== "" };
  publishNetwork(boot);
  core.changed.fire();
  return device;
}

/** Runs with a stream for the packets, if the server wants one. */
async function withRelay(
  boot: Boot,
  device: Device,
  { virtualEndpoint }: Provisioned,
  { endpoint }: Identity,
  run: () => Promise<void>,
): Promise<void> {
  if (virtualEndpoint === "") return await run();
  const stop = new AbortController();
  const relaying = relayPackets(
    boot,
    device,
    virtualEndpoint,
    () => provisionChannel(endpoint),
    AbortSignal.any([boot.signal, stop.signal]),
  );
  try {
    await run();
  } finally {
    stop.abort();
    await relaying;
  }
}

/** Keeps the peer up; returns when all endpoints were tried in vain or the identity changed. */
async function keepPeer(
  boot: Boot,
  device: Device,
  { endpoints, publicKey, serverAddress }: Provisioned,
  identity: Identity,
): Promise<void> {
  const { clock } = boot.core;
  for (const endpoint of endpoints) {
    await device.peers.put("server", {
      publicKey,
      allowedIp: serverAddress,
      endpoint,
      keepaliveSeconds: KEEPALIVE_SECONDS,
    }, { signal: boot.signal });
    const sinceMs = clock.nowMs();
    for (let isUp = true; isUp;) {
      await sleepUntilChanged(boot, CHECK_MS, identity);
      if (boot.signal.aborted || !sameIdentity(identity, identityOf(boot))) return;
      const stats = (await device.peers.stats()).get("server");
      isUp = clock.nowMs() - Math.max(stats?.lastHandshakeMs ?? 0, sinceMs) < PEER_DOWN_MS;
    }
  }
}

/** Sleeps, but no longer than the identity stays the same. */
async function sleepUntilChanged(boot: Boot, ms: number, identity: Identity): Promise<void> {
  const { core, signal } = boot;
  const wake = new AbortController();
  const look = (): void => {
    if (signal.aborted || !sameIdentity(identity, identityOf(boot))) wake.abort();
  };
  const unsubscribe = core.changed.subscribe(look);
  signal.addEventListener("abort", look, { once: true });
  look();
  await core.clock.sleep(ms, wake.signal);
  signal.removeEventListener("abort", look);
  unsubscribe();
}

/** Opens a connection from the machine: through the tunnel to its addresses, else directly. */
export async function dialFrom(
  { tunnel, signal: power }: Boot,
  { host, port }: HostPort,
  signal: AbortSignal,
): Promise<ByteStream> {
  power.throwIfAborted();
  const address = parseIpv6(host);
  if (address === undefined || !isTunnelAddress(address)) {
    return await dialTcp({ hostname: host, port, signal });
  }
  if (tunnel === undefined) {
    throw new CodedError("unavailable", `Cannot dial [${host}]:${port}: the tunnel is down`);
  }
  return await tunnel.net.dial(host, port, { signal });
}
