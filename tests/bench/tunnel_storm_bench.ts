// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What 20,000 forged initiations a second leave of the goodput of a peer that has its session.
 *
 * `deno run -A tests/bench/tunnel_storm_bench.ts [RATE] [ROUNDS]`. Server, peer and attacker are
 * three processes that share two cores; so the same storm at a socket that only throws away is
 * measured beside it, which says how much of a loss is nothing but the attacker's and the kernel's
 * own work. Each storm is compared with the undisturbed transfer before and after it.
 *
 * @module
 */

import { generateKey } from "../../link/keys.ts";
import { steadyClock } from "../../link/timers.ts";
import { cpuMs, median, report, residentKib } from "./figures.ts";
import { startProgram } from "./line_process.ts";
import type { SenderRequest } from "./tunnel_sender.ts";
import type { KnownPeer, ServerRequest, ServerStats } from "./tunnel_server.ts";
import type { StormRequest } from "./tunnel_storm.ts";

const RATE = Number(Deno.args[0] ?? 20_000);
const ROUNDS = Number(Deno.args[1] ?? 3);
const WINDOW_MS = 2000;
const PORT = 9000;

const key = generateKey();
const server = startProgram("./tunnel_server.ts");
const sender = startProgram("./tunnel_sender.ts");
const attacker = startProgram("./tunnel_storm.ts");
const askServer = (request: ServerRequest): Promise<unknown> => server.ask(request);
const askSender = (request: SenderRequest): Promise<unknown> => sender.ask(request);

/** Bytes a second that reach the server while something else goes on for a window. */
async function goodput(meanwhile: () => Promise<unknown>): Promise<number> {
  const before = await askServer({ kind: "stats" }) as ServerStats;
  const startMs = performance.now();
  await meanwhile();
  const after = await askServer({ kind: "stats" }) as ServerStats;
  return (after.sunk - before.sunk) / (performance.now() - startMs) * 1000;
}

function storm(port: number): Promise<unknown> {
  const request: StormRequest = { publicKey: key.publicKey, port, rate: RATE, forMs: WINDOW_MS };
  return attacker.ask(request);
}

const calm = (): Promise<number> => goodput(() => steadyClock.sleep(WINDOW_MS));

const port = Number(await askServer({ kind: "start", privateKey: key.privateKey, port: 0 }));
const peer = await askSender({ kind: "who" }) as KnownPeer;
await askServer({ kind: "load", peers: [peer] });
await askServer({ kind: "sink", port: PORT });
await askSender({
  kind: "send",
  publicKey: key.publicKey,
  endpoint: `127.0.0.1:${port}`,
  port: PORT,
});
// Nobody reads from this one; the kernel drops what does not fit.
const hole = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
const holePort = hole.addr.transport === "udp" ? hole.addr.port : 0;

await calm();
await goodput(() => storm(port));
const memory = [await residentKib(server.pid)];
let last = await calm();
const calmRates = [last];
const aside: number[] = [];
const under: number[] = [];
let serverMs = 0;
for (let round = 0; round < ROUNDS; round++) {
  for (const [target, ratios] of [[holePort, aside], [port, under]] as const) {
    const cpuBefore = await cpuMs(server.pid);
    const rate = await goodput(() => storm(target));
    if (target === port) {
      serverMs += await cpuMs(server.pid) - cpuBefore;
      memory.push(await residentKib(server.pid));
    }
    const next = await calm();
    ratios.push(2 * rate / (last + next));
    calmRates.push(next);
    last = next;
  }
}
report("goodput without a storm", median(calmRates) * 8 / 1e6, "Mbit/s");
report(`goodput, ${RATE}/s at another socket`, 100 * median(aside), "%");
report(`goodput, ${RATE}/s at the server`, 100 * median(under), "%");
report(`of it, without the attacker's own share`, 100 * median(under) / median(aside), "%");
report("CPU of the server under the storm", 100 * serverMs / (ROUNDS * WINDOW_MS), "% of a core");
for (const [i, kib] of memory.entries()) {
  report(`RSS of the server after storm ${i + 1}`, kib / 1024, "MiB");
}
hole.close();
await attacker.stop();
await sender.stop("kill");
await server.stop();
