// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Forged initiations at a high rate while a machine sends and another one comes;
 * `tunnel_storm_bench.ts` measures what they cost.
 *
 * @module
 */

import assert from "node:assert/strict";
import { generateKey } from "../../link/keys.ts";
import { residentKib } from "../bench/figures.ts";
import { startProgram } from "../bench/line_process.ts";
import type { MachinesRequest, Return } from "../bench/tunnel_machines.ts";
import type { SenderRequest } from "../bench/tunnel_sender.ts";
import type { KnownPeer, ServerRequest, ServerStats } from "../bench/tunnel_server.ts";
import type { StormRequest } from "../bench/tunnel_storm.ts";

const RATE = 20_000;
const STORM_MS = 2000;
const SINK_PORT = 9000;
/**
 * Queues and garbage of a transfer take some 40 MiB. It shows when 40,000 initiations are kept with
 * the 2 KiB that each was received into, 80 MiB; smaller things that are kept it does not show.
 */
const GROWTH_KIB = 96 * 1024;
const LIMIT_MS = 60_000;
const TRANSFERRED = 8 * 1024 * 1024;

Deno.test(`${RATE} forged initiations a second end no transfer and keep no newcomer out`, async () => {
  const key = generateKey();
  const server = startProgram("./tunnel_server.ts");
  const sender = startProgram("./tunnel_sender.ts");
  const attacker = startProgram("./tunnel_storm.ts");
  const machines = startProgram("./tunnel_machines.ts");
  const askServer = (request: ServerRequest): Promise<unknown> => server.ask(request);
  const askSender = (request: SenderRequest): Promise<unknown> => sender.ask(request);
  const askMachines = (request: MachinesRequest): Promise<unknown> => machines.ask(request);
  const sunk = async (): Promise<number> =>
    (await askServer({ kind: "stats" }) as ServerStats).sunk;
  try {
    const { privateKey, publicKey } = key;
    const port = Number(await askServer({ kind: "start", privateKey, port: 0 }));
    const endpoint = `127.0.0.1:${port}`;
    const known = await askMachines({ kind: "make", count: 1 }) as KnownPeer[];
    const peer = await askSender({ kind: "who" }) as KnownPeer;
    await askServer({ kind: "load", peers: [...known, peer] });
    await askServer({ kind: "sink", port: SINK_PORT });
    await askSender({ kind: "send", publicKey, endpoint, port: SINK_PORT });
    const before = await sunk();
    const memoryBefore = await residentKib(server.pid);

    const request: StormRequest = { publicKey, port, rate: RATE, forMs: STORM_MS };
    const storm = attacker.ask(request);
    await askMachines({ kind: "connect", publicKey, endpoint, spreadMs: 0 });
    const coming = askMachines({ kind: "await", limitMs: LIMIT_MS }) as Promise<Return>;
    const sent = Number(await storm);
    const growth = await residentKib(server.pid) - memoryBefore;

    assert.ok(sent > RATE * STORM_MS / 1000 / 4, `only ${sent} were sent`);
    assert.ok(growth < GROWTH_KIB, `${growth} KiB more than before`);
    assert.equal((await coming).lost, 0);
    // How much comes during the storm depends on who else wants the cores; it has to go on.
    const deadline = Date.now() + LIMIT_MS;
    while (await sunk() - before < TRANSFERRED) {
      assert.ok(Date.now() < deadline, `${await sunk() - before} bytes came`);
    }
  } finally {
    await attacker.stop("kill");
    await machines.stop("kill");
    await sender.stop("kill");
    await server.stop("kill");
  }
});
