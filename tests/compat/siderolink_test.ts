// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server as a process, joined by the public Go client of the siderolink protocol and read by the
 * public Go client of the COSI state; the module beside this file holds the tests.
 *
 * @module
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { endChild } from "../child_process.ts";
import { freeTcpPort } from "../integration/server_process.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** The Go module asks for this release or a newer one. */
const GO_MINOR = 26;

const missing = missingGo();

function missingGo(): string {
  try {
    const { stdout } = new Deno.Command("go", { args: ["version"], stderr: "null" }).outputSync();
    const minor = Number(/go1\.(\d+)/.exec(new TextDecoder().decode(stdout))?.[1] ?? 0);
    return minor >= GO_MINOR ? "" : ` (skipped: go is older than 1.${GO_MINOR})`;
  } catch {
    return " (skipped: go is not installed)";
  }
}

const TOKEN = "compat-token";

/** How long the server may take until it answers. */
const START_MS = 60_000;

interface ServerProcess {
  readonly api: string;
  readonly provision: string;
  stop(): Promise<void>;
}

function freeUdpPort(): number {
  const socket = Deno.listenDatagram({ hostname: "127.0.0.1", port: 0, transport: "udp" });
  socket.close();
  assert.equal(socket.addr.transport, "udp");
  return (socket.addr as Deno.NetAddr).port;
}

async function startServerProcess(directory: string): Promise<ServerProcess> {
  const api = `127.0.0.1:${freeTcpPort()}`;
  const provision = `127.0.0.1:${freeTcpPort()}`;
  const tunnelPort = freeUdpPort();
  const path = join(directory, "batuta.yaml");
  // JSON is YAML.
  await Deno.writeTextFile(
    path,
    JSON.stringify({
      machineApiAdvertisedUrl: `grpc://${provision}`,
      api: { bindAddress: api },
      siderolink: {
        bindAddress: provision,
        initialJoinToken: TOKEN,
        allowLocalAdvertised: true,
      },
      wireguard: {
        mode: "user",
        port: tunnelPort,
        advertisedEndpoint: `127.0.0.1:${tunnelPort}`,
      },
      state: { kind: "memory" },
      machineStore: { path: join(directory, "machines.sqlite") },
    }),
  );
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "-A", join(ROOT, "main.ts"), "serve", "--config", path],
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const stop = async (): Promise<void> => {
    await endChild(child);
  };
  try {
    await answering(`http://${api}/readyz`, child);
  } catch (error) {
    await stop();
    throw error;
  }
  return { api, provision, stop };
}

async function answering(url: string, child: Deno.ChildProcess): Promise<void> {
  const signal = AbortSignal.timeout(START_MS);
  let hasEnded = false;
  void child.status.then(() => hasEnded = true);
  for (;;) {
    signal.throwIfAborted();
    assert.equal(hasEnded, false, "the server ended before it answered");
    try {
      const reply = await fetch(url, { signal });
      await reply.body?.cancel();
      if (reply.ok) return;
    } catch {
      // Nobody listens yet; the loop spins no faster than connections are refused.
    }
  }
}

Deno.test({
  name: `batuta serve is joined and read by the clients of the field${missing}`,
  ignore: missing !== "",
  async fn() {
    const directory = await Deno.makeTempDir({ prefix: "batuta-compat-" });
    try {
      const server = await startServerProcess(directory);
      try {
        const { success, stdout } = await new Deno.Command("go", {
          args: ["test", "-count=1", "-v", "./..."],
          cwd: join(ROOT, "tests", "compat", "siderolink"),
          env: {
            BATUTA_API: server.api,
            BATUTA_PROVISION: server.provision,
            BATUTA_JOIN_TOKEN: TOKEN,
          },
          stderr: "inherit",
        }).output();
        const output = new TextDecoder().decode(stdout);
        assert.ok(success, output);
        assert.match(output, /--- PASS: TestGoodTokenJoins/);
        assert.match(output, /--- PASS: TestBadRequestsAreRefused/);
        assert.doesNotMatch(output, /--- SKIP/);
      } finally {
        await server.stop();
      }
    } finally {
      await Deno.remove(directory, { recursive: true });
    }
  },
});
