// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The goodput of our TCP over a line with faults, beside that of the kernel's over the same faults.
 *
 * `deno run -A tests/bench/tunnel_loss_bench.ts [ROUNDS] [CASE]`, as root, with `ip` and Go. Ours
 * runs in virtual time, the kernel's in real time between two network namespaces; the model of the
 * line, the order of its random decisions and the seeds are the same. Both have CUBIC, packets of
 * 1,280 bytes, 1 MiB to send from and the same largest window.
 *
 * @module
 */

import { join } from "node:path";
import type { NetworkFaults } from "../../link/testing_network.ts";
import { LINE, transfer, withWorld } from "../../link/testing_world.ts";
import { endChild } from "../child_process.ts";
import { must, run } from "../integration/wireguard_go.ts";
import { median, report } from "./figures.ts";

const ROUNDS = Number(Deno.args[0] ?? 3);
const PATTERN = Deno.args[1] ?? "";
const FOLDER = new URL("./lossy_line", import.meta.url).pathname;
const MIB = 1024 * 1024;
/** The kernel counts its own overhead in these, about as much again as the data. */
const BUFFERS = "4096 131072 2097152";

interface Case {
  readonly name: string;
  readonly faults: NetworkFaults;
  readonly size: number;
}

const SHORT: NetworkFaults = { ...LINE, delayMs: 10 };
const LONG: NetworkFaults = { ...LINE, delayMs: 100 };

const CASES: readonly Case[] = [
  { name: "20 ms", faults: SHORT, size: 16 * MIB },
  { name: "20 ms, 0.1 % loss", faults: { ...SHORT, loss: 0.001 }, size: 8 * MIB },
  { name: "20 ms, 1 % loss", faults: { ...SHORT, loss: 0.01 }, size: 4 * MIB },
  { name: "20 ms, 5 % loss", faults: { ...SHORT, loss: 0.05 }, size: MIB },
  { name: "20 ms, 10 % of packets late", faults: { ...SHORT, reordered: 0.1 }, size: 8 * MIB },
  { name: "20 ms, 10 % of packets doubled", faults: { ...SHORT, duplicates: 0.1 }, size: 8 * MIB },
  { name: "200 ms", faults: LONG, size: 16 * MIB },
  { name: "200 ms, 0.1 % loss", faults: { ...LONG, loss: 0.001 }, size: 4 * MIB },
  { name: "200 ms, 1 % loss", faults: { ...LONG, loss: 0.01 }, size: MIB },
];

const id = Deno.pid % 10_000;
const SIDES = [`btla${id}`, `btlb${id}`] as const;
const ADDRESSES = ["fdae::1", "fdae::2"] as const;
const ADDRESS = `[${ADDRESSES[1]}]:9000`;

async function build(): Promise<string> {
  const binary = join(await Deno.makeTempDir(), "lossy_line");
  const { success } = await new Deno.Command("go", {
    args: ["build", "-buildvcs=false", "-o", binary, "."],
    cwd: FOLDER,
  }).spawn().status;
  if (!success) throw new Error("Cannot build the line");
  return binary;
}

function inside(side: string, ...args: string[]): Deno.Command {
  return new Deno.Command("ip", { args: ["netns", "exec", side, ...args], stdout: "piped" });
}

async function firstLine(child: Deno.ChildProcess): Promise<string> {
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return new TextDecoder().decode(value).trim();
}

/** Namespaces of the two sides, whose links come and go with each line. */
async function prepare(): Promise<void> {
  for (const side of SIDES) {
    await must("ip", "netns", "add", side);
    const settings = [
      "net.ipv4.tcp_no_metrics_save=1",
      `net.ipv4.tcp_rmem=${BUFFERS}`,
      `net.ipv4.tcp_wmem=${BUFFERS}`,
    ];
    await must("ip", "netns", "exec", side, "sysctl", "-qw", ...settings);
  }
}

/** The goodput of the kernel's TCP in Mbit/s. */
async function kernel(line: string, { faults, size }: Case, seed: number): Promise<number> {
  const flags = [
    `-loss=${faults.loss ?? 0}`,
    `-duplicates=${faults.duplicates ?? 0}`,
    `-reordered=${faults.reordered ?? 0}`,
    `-delay=${faults.delayMs ?? 0}`,
    `-rate=${faults.bytesPerSecond ?? 0}`,
    `-queue=${faults.queue ?? 1e9}`,
    `-seed=${seed}`,
  ];
  const child = new Deno.Command(line, {
    args: [...flags, "line", ...SIDES],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  let sink: Deno.ChildProcess | undefined;
  try {
    await firstLine(child);
    for (const [i, side] of SIDES.entries()) {
      await must("ip", "link", "set", side, "netns", side);
      const address = `${ADDRESSES[i]}/64`;
      await must("ip", "-n", side, "addr", "add", address, "dev", side, "nodad");
      await must("ip", "-n", side, "link", "set", side, "mtu", "1280", "up");
    }
    sink = inside(SIDES[1], line, "sink", ADDRESS).spawn();
    await firstLine(sink);
    const send = inside(SIDES[0], line, "send", ADDRESS, String(size));
    const { stdout, success } = await send.output();
    if (!success) throw new Error("The kernel's transfer failed");
    return size * 8 / 1000 / Number(new TextDecoder().decode(stdout));
  } finally {
    for (const process of [sink, child]) {
      if (process === undefined) continue;
      await Promise.all([process.stdout.cancel(), endChild(process)]);
    }
  }
}

async function ours({ faults, size }: Case, seed: number): Promise<number> {
  let rate = 0;
  await withWorld(seed, faults, async (world) => void (rate = await transfer(world, size)));
  return rate;
}

const binary = await build();
try {
  await prepare();
  for (const it of CASES.filter(({ name }) => name.includes(PATTERN))) {
    const seeds = Array.from({ length: ROUNDS }, (_, i) => 100 + i);
    const mine: number[] = [];
    const theirs: number[] = [];
    for (const seed of seeds) {
      mine.push(await ours(it, seed));
      theirs.push(await kernel(binary, it, seed));
    }
    report(`${it.name}, ours`, median(mine), "Mbit/s");
    report(`${it.name}, the kernel's`, median(theirs), "Mbit/s");
    report(`${it.name}, ratio`, median(mine) / median(theirs), "");
  }
} finally {
  for (const side of SIDES) await run("ip", "netns", "del", side);
  await Deno.remove(join(binary, ".."), { recursive: true });
}
