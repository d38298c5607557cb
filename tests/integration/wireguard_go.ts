// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Debian's wireguard-go in a network namespace of its own, joined by a pair of virtual Ethernet
 * links.
 *
 * @module
 */

import assert from "node:assert/strict";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import type { KeyPair } from "../../link/keys.ts";
import { endChild } from "../child_process.ts";

/** The tunnel address of the peer. */
export const MACHINE_ADDRESS = "fdae:41e4:649b:9303::5";

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
/** Whether this machine has the tools and the rights. */
export const isPossible = isRoot && await has("wireguard-go", "--version") &&
  await has("ip", "-V") && await has("wg", "--version") && await canMakeNamespace();
/** What to add to the name of a test that cannot run. */
export const note = isPossible ? "" : " (skipped: needs root, wireguard-go, wg and ip)";

/** Tests of several files run in one process, and of several checkouts on one machine. */
function uniqueNumber(below: number): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % below;
}

async function canMakeNamespace(): Promise<boolean> {
  const name = `bt-probe-${uniqueNumber(2 ** 32)}`;
  const isMade = (await run("ip", "netns", "add", name)).success;
  if (isMade) await run("ip", "netns", "del", name);
  return isMade;
}

/** Runs a command to its end. */
export function run(command: string, ...args: string[]): Promise<Deno.CommandOutput> {
  return new Deno.Command(command, { args, stdout: "piped", stderr: "piped" }).output();
}

/** Runs a command that must succeed. */
export async function must(command: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await run(command, ...args);
  assert.ok(success, `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
}

/** A wireguard-go in its namespace. */
export interface Peer {
  /** Runs a command there. */
  readonly inside: (...args: string[]) => Deno.Command;
  /** Our end of the pair of links. */
  readonly outer: string;
  /** Our address as it sees us, and its address as we see it. */
  readonly hostAddress: string;
  readonly peerAddress: string;
  /** Changes its configuration as `wg set` does. */
  set(...args: string[]): Promise<void>;
  /** Gives it another tunnel address. */
  setAddress(address: string): Promise<void>;
}

/** A running wireguard-go. */
export interface WireguardGo extends AsyncDisposable {
  readonly pid: number;
}

/**
 * Starts wireguard-go, by a command in front of it if need be, and waits until it takes
 * configuration; fails with what it wrote when it ends before that. Nobody may ask by `wg` earlier:
 * `wg` takes a socket that is bound but does not listen yet for a left one and deletes it, which
 * ends wireguard-go.
 */
export async function startWireguardGo(link: string, ...before: string[]): Promise<WireguardGo> {
  const [program = "", ...args] = [...before, "wireguard-go", "-f", link];
  const child = new Deno.Command(program, {
    args,
    env: { LOG_LEVEL: "verbose" },
    // Its log, errors too, is its standard output.
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const isListening = Promise.withResolvers<void>();
  const reading = (async () => {
    let text = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (text.includes("UAPI listener started")) isListening.resolve();
    }
    isListening.reject(new Error(`wireguard-go ended:\n${text}`));
  })();
  await isListening.promise;
  return {
    pid: child.pid,
    async [Symbol.asyncDispose]() {
      await endChild(child);
      await reading;
    },
  };
}

/** Starts one with a key, and removes everything afterwards. */
export async function withPeer(key: KeyPair, use: (peer: Peer) => Promise<void>): Promise<void> {
  // Short enough for a link.
  const id = `${uniqueNumber(2 ** 32)}`;
  const [namespace, outer, inner, link] = [`bt${id}`, `bo${id}`, `bi${id}`, `bw${id}`];
  const network = `10.${200 + uniqueNumber(50)}.${uniqueNumber(256)}`;
  const hostAddress = `${network}.1`;
  const peerAddress = `${network}.2`;
  const inside = (...args: string[]): Deno.Command =>
    new Deno.Command("ip", {
      args: ["netns", "exec", namespace, ...args],
      stdout: "piped",
      stderr: "piped",
    });
  const within = (...args: string[]): Promise<void> =>
    must("ip", "netns", "exec", namespace, ...args);
  const keyFile = await Deno.makeTempFile();
  let daemon: WireguardGo | undefined;
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
    daemon = await startWireguardGo(link, "ip", "netns", "exec", namespace);
    await within("wg", "set", link, "private-key", keyFile);
    await within("ip", "addr", "add", `${MACHINE_ADDRESS}/128`, "dev", link, "nodad");
    await within("ip", "link", "set", link, "mtu", "1280", "up");
    await within("ip", "-6", "route", "add", `${SERVER_ADDRESS}/128`, "dev", link);
    await use({
      inside,
      outer,
      hostAddress,
      peerAddress,
      set: (...args) => within("wg", "set", link, ...args),
      setAddress: async (address) => {
        await within("ip", "addr", "del", `${MACHINE_ADDRESS}/128`, "dev", link);
        await within("ip", "addr", "add", `${address}/128`, "dev", link, "nodad");
      },
    });
  } finally {
    await daemon?.[Symbol.asyncDispose]();
    await run("ip", "netns", "del", namespace);
    await run("ip", "link", "del", outer);
    await Deno.remove(keyFile);
  }
}

/** A namespace for the server, with our end of the links in it. */
export async function withServerNamespace(
  { outer, hostAddress }: Peer,
  use: (command: (...args: string[]) => Deno.Command, namespace: string) => Promise<void>,
): Promise<void> {
  const namespace = `bs${uniqueNumber(2 ** 32)}`;
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
      }), namespace);
  } finally {
    await run("ip", "netns", "del", namespace);
  }
}
