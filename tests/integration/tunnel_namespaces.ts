// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server and machines in network namespaces of their own, each machine on a link to the server.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { generateKey, type KeyPair } from "../../link/keys.ts";
import type { PeerStats } from "../../link/peers.ts";
import { endChild } from "../child_process.ts";
import { TextLineStream } from "../compat/line_stream.ts";
import type { TunnelCommand, TunnelProcessOptions } from "./tunnel_process.ts";
import { must, run } from "./wireguard_go.ts";

const PROGRAM = new URL("./tunnel_process.ts", import.meta.url).pathname;
const CONFIG = new URL("../../deno.json", import.meta.url).pathname;
/** The name of a machine's interface, where tools of the system make it. */
const MACHINE_LINK = "wgm";
/** The UDP port of a machine. */
export const MACHINE_PORT = 50_181;

/** A network namespace. */
export interface Namespace {
  readonly name: string;
  /** Runs a command there that must succeed; returns what it prints. */
  run(...args: string[]): Promise<string>;
  /** Whether a command succeeds there. */
  succeeds(...args: string[]): Promise<boolean>;
  /** Starts a command there, whose input and output are ours. */
  spawn(...args: string[]): Deno.ChildProcess;
}

/** A machine's place in the network. */
export interface MachinePlace {
  readonly namespace: Namespace;
  /** Its inner address. */
  readonly address: string;
  /** The server as the machine sees it, and the machine as the server sees it. */
  readonly serverHost: string;
  readonly host: string;
  readonly key: KeyPair;
}

/** A server's namespace and those of its machines. */
export interface Network {
  readonly server: Namespace;
  readonly serverKey: KeyPair;
  readonly machines: readonly MachinePlace[];
}

/** Makes a network, and removes it with all processes in it. */
export async function withNetwork(
  machineCount: number,
  use: (network: Network) => Promise<void>,
): Promise<void> {
  const id = `${Deno.pid % 100_000}x${networks++}`;
  const names: string[] = [];
  const make = async (name: string): Promise<Namespace> => {
    await must("ip", "netns", "add", name);
    names.push(name);
    await must("ip", "-n", name, "link", "set", "lo", "up");
    return namespace(name);
  };
  try {
    const server = await make(`bs${id}`);
    const machines: MachinePlace[] = [];
    for (let i = 1; i <= machineCount; i++) {
      const own = await make(`bm${id}x${i}`);
      const [host, serverHost] = [`10.213.${i}.2`, `10.213.${i}.1`];
      const veth = `bv${i}`;
      const pair = ["type", "veth", "peer", "name", "out", "netns", own.name];
      await must("ip", "-n", server.name, "link", "add", veth, ...pair);
      await must("ip", "-n", server.name, "addr", "add", `${serverHost}/24`, "dev", veth);
      await must("ip", "-n", server.name, "link", "set", veth, "up");
      await must("ip", "-n", own.name, "addr", "add", `${host}/24`, "dev", "out");
      await must("ip", "-n", own.name, "link", "set", "out", "up");
      const address = `fdae:41e4:649b:9303::${(0x100 + i).toString(16)}`;
      machines.push({ namespace: own, address, serverHost, host, key: generateKey() });
    }
    await use({ server, machines, serverKey: generateKey() });
  } finally {
    for (const name of names.reverse()) await run("ip", "netns", "del", name);
  }
}

let networks = 0;

function namespace(name: string): Namespace {
  const command = (args: readonly string[], stdin: "piped" | "null"): Deno.Command =>
    new Deno.Command("ip", {
      args: ["netns", "exec", name, ...args],
      stdin,
      stdout: "piped",
      stderr: "piped",
    });
  return {
    name,
    async run(...args) {
      const { success, stdout, stderr } = await command(args, "null").output();
      assert.ok(success, `${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
      return new TextDecoder().decode(stdout);
    },
    succeeds: async (...args) => (await command(args, "null").output()).success,
    spawn: (...args) => command(args, "piped").spawn(),
  };
}

/** What a tunnel's process answers. */
export interface TunnelAnswer {
  readonly port?: number;
  readonly putMs?: number;
  readonly milliseconds?: number;
  readonly stats?: Readonly<Record<string, PeerStats>>;
  readonly error?: string;
  readonly failed?: string;
}

/** A tunnel in a namespace. */
export interface TunnelProcess extends AsyncDisposable {
  readonly port: number;
  /** How long it took to put all peers. */
  readonly putMs: number;
  /** Asks something; fails when that fails. */
  ask(command: TunnelCommand): Promise<TunnelAnswer>;
  /** The next line that nobody asked for. */
  next(): Promise<TunnelAnswer>;
  /** Ends the process at once. */
  kill(): Promise<void>;
}

/** Starts a tunnel; fails with what it says when it cannot start. */
export async function startTunnelProcess(
  place: Namespace,
  options: TunnelProcessOptions,
  ...prefix: readonly string[]
): Promise<TunnelProcess> {
  const flags = ["run", "--no-check", "--cached-only", "--no-prompt", "--allow-net"];
  // Mode "user" has to do without, as it does in the server.
  if (options.mode !== "user") flags.push("--allow-ffi");
  const child = place.spawn(
    ...prefix,
    ...[Deno.execPath(), ...flags, "--allow-read", "--allow-env", "--allow-sys=hostname"],
    ...["--config", CONFIG, PROGRAM, JSON.stringify(options)],
  );
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream())
    .getReader();
  const errors = new Response(child.stderr).text();
  const input = child.stdin.getWriter();
  const next = async (): Promise<TunnelAnswer> => {
    const { value, done } = await lines.read();
    assert.ok(!done, `the tunnel's process ended: ${done ? await errors : ""}`);
    return JSON.parse(value ?? "");
  };
  let isOver = false;
  const kill = async (): Promise<void> => {
    if (isOver) return;
    isOver = true;
    await endChild(child, "SIGKILL");
    await input.abort().catch(() => {});
    await lines.cancel();
    await errors;
  };
  try {
    const { port, putMs = 0, error } = await next();
    if (port === undefined) throw new Error(error);
    return {
      port,
      putMs,
      next,
      kill,
      async ask(command) {
        await input.write(new TextEncoder().encode(`${JSON.stringify(command)}\n`));
        const answer = await next();
        const wrong = answer.error ?? answer.failed;
        if (wrong !== undefined) throw new Error(wrong);
        return answer;
      },
      [Symbol.asyncDispose]: kill,
    };
  } catch (error) {
    await kill();
    throw error;
  }
}

/** Gives an interface of the kernel's WireGuard a key, as the system's tool does. */
export async function setPrivateKey(
  namespace: Namespace,
  link: string,
  privateKey: string,
): Promise<void> {
  const keyFile = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(keyFile, privateKey);
    await namespace.run("wg", "set", link, "private-key", keyFile);
  } finally {
    await Deno.remove(keyFile);
  }
}

/** Makes a machine with the kernel's WireGuard, as the system's tools do. */
export async function makeKernelMachine(
  { namespace, address, key }: MachinePlace,
  allowedIps = `${SERVER_ADDRESS}/128`,
): Promise<(...args: string[]) => Promise<string>> {
  await namespace.run("ip", "link", "add", MACHINE_LINK, "type", "wireguard");
  await setPrivateKey(namespace, MACHINE_LINK, key.privateKey);
  await namespace.run("wg", "set", MACHINE_LINK, "listen-port", String(MACHINE_PORT));
  await namespace.run("ip", "addr", "add", `${address}/128`, "dev", MACHINE_LINK, "nodad");
  await namespace.run("ip", "link", "set", MACHINE_LINK, "mtu", "1280", "up");
  await namespace.run("ip", "-6", "route", "add", allowedIps, "dev", MACHINE_LINK);
  return (...args) => namespace.run("wg", "set", MACHINE_LINK, ...args);
}

/** Whether this process may make network namespaces, and has the tools for it. */
export async function canMakeNetworks(): Promise<boolean> {
  return await canMake(() => Promise.resolve(true));
}

/** Whether the kernel has WireGuard: an interface of that kind can be made. */
export async function hasKernelWireguard(): Promise<boolean> {
  return await canMake(async (name) => {
    if (!(await run("wg", "--version")).success) return false;
    return (await run("ip", "-n", name, "link", "add", "wgt", "type", "wireguard")).success;
  });
}

async function canMake(isEnough: (namespace: string) => Promise<boolean>): Promise<boolean> {
  if (Deno.build.os !== "linux" || Deno.uid() !== 0) return false;
  const name = `bk${Deno.pid % 100_000}`;
  try {
    if (!(await run("ip", "netns", "add", name)).success) return false;
    const result = await isEnough(name).catch(() => false);
    await run("ip", "netns", "del", name);
    return result;
  } catch {
    return false;
  }
}
