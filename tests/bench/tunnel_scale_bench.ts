// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The tunnel with thousands of machines: all come at once, all come back after the server was
 * killed and started again, and all are idle.
 *
 * `deno run -A tests/bench/tunnel_scale_bench.ts [MACHINES] [IDLE-MACHINES]`. The server's process
 * holds only the tunnel; all machines are in another one, so two cores are needed and shared.
 *
 * @module
 */

import { generateKey } from "../../link/keys.ts";
import { steadyClock } from "../../link/timers.ts";
import { cpuMs, report, residentKib } from "./figures.ts";
import { type LineProcess, startProgram } from "./line_process.ts";
import type { MachinesRequest, Return } from "./tunnel_machines.ts";
import type { KnownPeer, ServerRequest, ServerStats } from "./tunnel_server.ts";

const MACHINES = Number(Deno.args[0] ?? 5000);
const IDLE_MACHINES = Number(Deno.args[1] ?? 10_000);
/** New keys come every 120 s, at the next keepalive: this spreads them evenly. */
const SPREAD_MS = 125_000;
const IDLE_MS = 60_000;
const LIMIT_MS = 60_000;

const key = generateKey();

interface Server {
  readonly program: LineProcess;
  readonly port: number;
}

async function startServer(peers: readonly KnownPeer[], wantedPort: number): Promise<Server> {
  const program = startProgram("./tunnel_server.ts");
  const start = { kind: "start", privateKey: key.privateKey, port: wantedPort } as const;
  const port = Number(await ask(program, start));
  await ask(program, { kind: "load", peers });
  return { program, port };
}

function ask(program: LineProcess, request: ServerRequest | MachinesRequest): Promise<unknown> {
  return program.ask(request);
}

async function makeMachines(count: number): Promise<[LineProcess, KnownPeer[]]> {
  const machines = startProgram("./tunnel_machines.ts");
  return [machines, await ask(machines, { kind: "make", count }) as KnownPeer[]];
}

async function connect(machines: LineProcess, port: number, spreadMs: number): Promise<void> {
  const endpoint = `127.0.0.1:${port}`;
  await ask(machines, { kind: "connect", publicKey: key.publicKey, endpoint, spreadMs });
}

async function connected({ program }: Server): Promise<ServerStats> {
  return await ask(program, { kind: "stats" }) as ServerStats;
}

/** Reports how long the machines took since a time, and what both sides had to do for it. */
async function reportReturn(
  name: string,
  startMs: number,
  back: Return,
  server: LineProcess,
  cpu: { readonly serverMs: number; readonly machinesMs: number },
): Promise<void> {
  report(`${name}, half of them`, (back.halfMs - startMs) / 1000, "s");
  report(`${name}, all`, (back.lastMs - startMs) / 1000, "s");
  report(`${name}, lost`, back.lost, "machines");
  report(`${name}, CPU of the server`, cpu.serverMs / 1000, "s");
  report(`${name}, CPU of the machines`, cpu.machinesMs / 1000, "s");
  report(`${name}, RSS of the server`, await residentKib(server.pid) / 1024, "MiB");
}

async function reconnect(): Promise<void> {
  const empty = await startServer([], 0);
  report("RSS of a server without machines", await residentKib(empty.program.pid) / 1024, "MiB");
  await empty.program.stop();

  const [machines, known] = await makeMachines(MACHINES);
  let server = await startServer(known, 0);
  let machinesMs = await cpuMs(machines.pid);
  const serverMs = await cpuMs(server.program.pid);
  let startMs = Date.now();
  await connect(machines, server.port, 0);
  const wait = { kind: "await", limitMs: LIMIT_MS } as const;
  let back = await ask(machines, wait) as Return;
  await reportReturn(`${MACHINES} machines come at once`, startMs, back, server.program, {
    serverMs: await cpuMs(server.program.pid) - serverMs,
    machinesMs: await cpuMs(machines.pid) - machinesMs,
  });

  const { peers } = await connected(server);
  await server.program.stop("kill");
  machinesMs = await cpuMs(machines.pid);
  const returning = ask(machines, wait);
  startMs = Date.now();
  server = await startServer(peers, server.port);
  report(`${MACHINES} machines loaded after a restart`, (Date.now() - startMs) / 1000, "s");
  back = await returning as Return;
  await reportReturn(`${MACHINES} machines are back`, startMs, back, server.program, {
    serverMs: await cpuMs(server.program.pid),
    machinesMs: await cpuMs(machines.pid) - machinesMs,
  });
  report("as the server sees it", (await connected(server)).connected, "machines");
  await server.program.stop();
  await machines.stop("kill");
}

async function idle(): Promise<void> {
  const [machines, known] = await makeMachines(IDLE_MACHINES);
  const server = await startServer(known, 0);
  const pids = [server.program.pid, machines.pid] as const;
  await connect(machines, server.port, SPREAD_MS);
  await steadyClock.sleep(SPREAD_MS + 1000);
  const before = await Promise.all(pids.map(cpuMs));
  const startMs = performance.now();
  await steadyClock.sleep(IDLE_MS);
  const elapsedMs = performance.now() - startMs;
  const after = await Promise.all(pids.map(cpuMs));
  const [serverPercent = NaN, machinesPercent = NaN] = after.map((ms, i) =>
    100 * (ms - (before[i] ?? NaN)) / elapsedMs
  );
  const name = `${IDLE_MACHINES} idle machines`;
  report(`${name}, CPU of the server`, serverPercent, "% of a core");
  report(`${name}, CPU of the machines`, machinesPercent, "% of a core");
  report(`${name}, RSS of the server`, await residentKib(pids[0]) / 1024, "MiB");
  report(`${name}, connected`, (await connected(server)).connected, "machines");
  await server.program.stop();
  await machines.stop("kill");
}

if (MACHINES > 0) await reconnect();
if (IDLE_MACHINES > 0) await idle();
