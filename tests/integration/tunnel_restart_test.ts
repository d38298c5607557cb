// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Machines that come all at once, and again after the server was killed; `tunnel_scale_bench.ts`
 * does the same with thousands.
 *
 * @module
 */

import assert from "node:assert/strict";
import { generateKey } from "../../link/keys.ts";
import { type LineProcess, startProgram } from "../bench/line_process.ts";
import type { MachinesRequest, Return } from "../bench/tunnel_machines.ts";
import type { KnownPeer, ServerRequest, ServerStats } from "../bench/tunnel_server.ts";

const COUNT = 300;
const LIMIT_MS = 60_000;

Deno.test(`${COUNT} machines are all back after the tunnel's process was killed`, async () => {
  const key = generateKey();
  const machines = startProgram("./tunnel_machines.ts");
  let server = startProgram("./tunnel_server.ts");
  const ask = (program: LineProcess, request: ServerRequest | MachinesRequest): Promise<unknown> =>
    program.ask(request);
  const wait: MachinesRequest = { kind: "await", limitMs: LIMIT_MS };
  try {
    const peers = await ask(machines, { kind: "make", count: COUNT }) as KnownPeer[];
    const { privateKey, publicKey } = key;
    const port = Number(await ask(server, { kind: "start", privateKey, port: 0 }));
    await ask(server, { kind: "load", peers });
    const endpoint = `127.0.0.1:${port}`;
    await ask(machines, { kind: "connect", publicKey, endpoint, spreadMs: 0 });
    assert.equal((await ask(machines, wait) as Return).lost, 0);

    // The endpoints are all that the state remembers of where the machines were.
    const known = (await ask(server, { kind: "stats" }) as ServerStats).peers;
    assert.ok(known.every(({ lastEndpoint }) => lastEndpoint?.startsWith("127.0.0.1:")));
    await server.stop("kill");
    const returning = ask(machines, wait);
    server = startProgram("./tunnel_server.ts");
    await ask(server, { kind: "start", privateKey, port });
    await ask(server, { kind: "load", peers: known });
    assert.equal((await returning as Return).lost, 0);
    assert.equal((await ask(server, { kind: "stats" }) as ServerStats).connected, COUNT);
  } finally {
    await machines.stop("kill");
    await server.stop("kill");
  }
});
