// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server with an etcd of its own: neither outlives the other, and the state outlives both.
 *
 * @module
 */

import { match, ok, strictEqual } from "node:assert/strict";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { hasProgram } from "../compat/lab_server.ts";
import {
  createResource,
  listResources,
  type ServerProcess,
  startServerProcess,
  TALOS_VERSION,
  within,
} from "./server_process.ts";

const MISSING_ETCD = hasProgram("etcd", "--version") ? "" : " (skipped: etcd is not installed)";
const ignore = MISSING_ETCD !== "" || Deno.build.os !== "linux";

/** Generous: the tests share their processors with others. */
const DEADLINE_MS = 60_000;

/** An etcd that does not start any more when a file stands beside it. */
const FRAGILE = `#!/bin/sh
if [ -e "$0.broken" ]; then echo "the disk is on fire" >&2; exit 3; fi
exec etcd "$@"
`;

/** The processes of etcd with their data in a directory. */
function etcdsOf(directory: string): number[] {
  const found: number[] = [];
  for (const { name } of Deno.readDirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [program = "", ...args] = Deno.readTextFileSync(`/proc/${name}/cmdline`).split("\0");
      if (!/(^|\/)etcd$/.test(program)) continue;
      if (args.includes(`--data-dir=${directory}/etcd`)) found.push(Number(name));
    } catch {
      // It has ended meanwhile.
    }
  }
  return found;
}

async function withServer(
  run: (server: ServerProcess, directory: string) => Promise<void>,
): Promise<void> {
  let directory = "";
  await using server = await startServerProcess({
    store(given) {
      directory = given;
      Deno.writeTextFileSync(`${given}/fragile-etcd`, FRAGILE, { mode: 0o755 });
      const child = `{dataDirectory: ${given}/etcd, binary: ${given}/fragile-etcd}`;
      return `kind: etcd, etcd: {child: ${child}}`;
    },
  });
  await run(server, directory);
}

function createCluster(server: ServerProcess, id: string): Promise<void> {
  return createResource(server.state, Cluster, id, {
    talosVersion: TALOS_VERSION,
    kubernetesVersion: "1.34.1",
  });
}

async function clusters(server: ServerProcess): Promise<string> {
  const found = await listResources(server.state, Cluster);
  return found.map(({ metadata }) => metadata.id).sort().join();
}

Deno.test({
  name: `a server that is killed leaves no etcd behind and finds all it had${MISSING_ETCD}`,
  ignore,
  fn: () =>
    withServer(async (server, directory) => {
      strictEqual((Deno.statSync(`${directory}/etcd`).mode ?? 0) & 0o777, 0o700);
      await createCluster(server, "one");
      strictEqual(etcdsOf(directory).length, 1);
      await server.end("SIGKILL");
      await within(DEADLINE_MS, "etcd has ended", () => etcdsOf(directory).length === 0);
      await server.start();
      strictEqual(await clusters(server), "one");
      await createCluster(server, "two");
      strictEqual(await server.end("SIGTERM"), 0);
      strictEqual(etcdsOf(directory).length, 0);
      await server.start();
      strictEqual(await clusters(server), "one,two");
    }),
});

Deno.test({
  name: `a server goes on when its etcd is killed, and ends when it cannot be${MISSING_ETCD}`,
  ignore,
  fn: () =>
    withServer(async (server, directory) => {
      const { pid } = server;
      await createCluster(server, "one");
      const [first = 0, ...others] = etcdsOf(directory);
      strictEqual(others.length, 0);
      Deno.kill(first, "SIGKILL");
      // The write waits until etcd is there again.
      await createCluster(server, "two");
      strictEqual(server.pid, pid);
      const [second = 0] = etcdsOf(directory);
      ok(second !== 0 && second !== first);
      const said = (pattern: RegExp): string =>
        server.logLines.find((line) => pattern.test(line)) ?? "";
      const again = /"attempt":1,"msg":"etcd started again"/;
      await within(DEADLINE_MS, "the log says that etcd runs", () => said(again) !== "");
      match(said(/"msg":"etcd ended"/), /Killed/);

      Deno.writeTextFileSync(`${directory}/fragile-etcd.broken`, "");
      Deno.kill(second, "SIGKILL");
      strictEqual(await server.ended, 1);
      match(said(/the disk is on fire/), /"msg":"etcd says"/);
      match(said(/"msg":"server failed"/), /Cannot keep etcd running/);
      strictEqual(etcdsOf(directory).length, 0);

      Deno.removeSync(`${directory}/fragile-etcd.broken`);
      await server.start();
      strictEqual(await clusters(server), "one,two");
    }),
});
