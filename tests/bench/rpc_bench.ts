// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Measures the transport beside grpc-go and grpc-js: the same methods, the same Go client, in turn.
 *
 * Servers take turns within each measurement, and medians are compared, because machines differ and
 * the same machine differs from one minute to the next. The processor time of the server for one
 * call is the steadiest figure where client and server share the cores. Needs Go.
 *
 * @module
 */

import { join } from "node:path";
import { endChild } from "../child_process.ts";
import { cpuMs, median, report, residentKib } from "./figures.ts";

const ROUNDS = 3;
const FOLDER = new URL(".", import.meta.url).pathname;

interface Target {
  readonly name: string;
  readonly port: number;
  readonly child: Deno.ChildProcess;
}

interface Measured {
  readonly rate: number;
  readonly p50us: number;
  readonly p99us: number;
  /** Microseconds of the server's processor time for one call or message. */
  readonly cpuUs: number;
}

const CASES: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["unary, 1 in flight", ["-case=unary", "-workers=1"]],
  ["unary, 64 in flight", ["-case=unary", "-workers=64"]],
  ["unary, 256 in flight", ["-case=unary", "-workers=256"]],
  ["stream of 1,000,000 messages of 32 bytes", ["-case=count", "-n=1000000"]],
  ["upload of 32 MiB", ["-case=upload", "-duration=3s"]],
  ["download of 32 MiB", ["-case=download", "-duration=3s"]],
];

/** Builds the Go peer; `undefined` where there is no Go. */
async function build(folder: string): Promise<string | undefined> {
  const binary = join(folder, "rpc_peer");
  try {
    const { success } = await new Deno.Command("go", {
      args: ["build", "-buildvcs=false", "-o", binary, "."],
      cwd: join(FOLDER, "rpc_peer"),
    }).spawn().status;
    if (!success) throw new Error("Cannot build the Go peer");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  return binary;
}

async function start(name: string, command: string, args: readonly string[]): Promise<Target> {
  const child = new Deno.Command(command, { args: [...args], stdout: "piped" }).spawn();
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  return { name, child, port: Number(new TextDecoder().decode(value)) };
}

async function measure(peer: string, target: Target, args: readonly string[]): Promise<Measured> {
  const before = await cpuMs(target.child.pid);
  const startMs = performance.now();
  const { stdout, success, stderr } = await new Deno.Command(peer, {
    args: [`-addr=127.0.0.1:${target.port}`, ...args],
  }).output();
  if (!success) throw new Error(`${target.name}: ${new TextDecoder().decode(stderr)}`);
  const seconds = (performance.now() - startMs) / 1000;
  const { rate, p50us, p99us } = JSON.parse(new TextDecoder().decode(stdout));
  return {
    rate,
    p50us,
    p99us,
    cpuUs: (await cpuMs(target.child.pid) - before) * 1000 / (rate * seconds),
  };
}

async function compare(
  peer: string,
  targets: readonly Target[],
  name: string,
  args: readonly string[],
): Promise<void> {
  const results = new Map<Target, Measured[]>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const target of targets) {
      const measured = await measure(peer, target, args);
      results.set(target, [...results.get(target) ?? [], measured]);
    }
  }
  for (const [target, measured] of results) {
    const of = (key: keyof Measured): number => median(measured.map((each) => each[key]));
    report(`${name}: ${target.name}`, of("rate"), "1/s");
    if (of("p50us") > 0) report(`${name}: ${target.name}, p50`, of("p50us"), "us");
    if (of("p99us") > 0) report(`${name}: ${target.name}, p99`, of("p99us"), "us");
    report(`${name}: ${target.name}, server CPU`, of("cpuUs"), "us");
  }
}

/** Memory of a server for each idle stream, or for each idle connection that has made a call. */
async function idle(
  peer: string,
  target: Target,
  kind: "streams" | "sessions",
  count: number,
): Promise<void> {
  const open = async (): Promise<AsyncDisposable> => {
    const child = new Deno.Command(peer, {
      args: [`-addr=127.0.0.1:${target.port}`, `-case=${kind}`, `-n=${count}`],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const reader = child.stdout.getReader();
    await reader.read();
    return {
      [Symbol.asyncDispose]: async () => {
        await reader.cancel();
        await child.stdin.close();
        await child.status;
      },
    };
  };
  // Compiled code, first buffers and a young heap of full size are not what is asked for here.
  await measure(peer, target, ["-case=unary", "-workers=64", "-duration=1s"]);
  await using _first = await open();
  const before = await residentKib(target.child.pid);
  await using _more = await open();
  const grown = await residentKib(target.child.pid) - before;
  report(`${count} more idle ${kind}: ${target.name}`, grown / count, "KiB each");
}

async function withTargets(
  peer: string,
  run: (targets: readonly Target[]) => Promise<void>,
): Promise<void> {
  const server = join(FOLDER, "rpc_bench_server.ts");
  const targets = [
    await start("own", Deno.execPath(), ["run", "-A", server, "own"]),
    await start("grpc-go", peer, ["-serve=127.0.0.1:0"]),
    await start("grpc-js", Deno.execPath(), ["run", "-A", server, "grpc-js"]),
  ];
  try {
    await run(targets);
  } finally {
    for (const { child } of targets) await endChild(child, "SIGKILL");
  }
}

async function run(peer: string): Promise<void> {
  // Fresh processes, so that memory shows what one kind of load takes.
  for (const [kind, count] of [["streams", 10_000], ["sessions", 4000]] as const) {
    await withTargets(peer, async (targets) => {
      for (const target of targets) await idle(peer, target, kind, count);
    });
  }
  await withTargets(peer, async (targets) => {
    for (const [name, args] of CASES) await compare(peer, targets, name, args);
  });
}

if (import.meta.main) {
  const folder = await Deno.makeTempDir();
  try {
    const peer = await build(folder);
    if (peer === undefined) console.error("Skipped: the peer of this benchmark needs Go");
    else await run(peer);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
