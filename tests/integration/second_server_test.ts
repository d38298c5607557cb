// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Two servers with one file of the state: the second one is refused, and the first one goes on.
 *
 * @module
 */

import { match, rejects, strictEqual } from "node:assert/strict";
import { Cluster } from "../../resources/cluster/cluster.ts";
import {
  createResource,
  listResources,
  startServerProcess,
  TALOS_VERSION,
} from "./server_process.ts";

const STORES: Readonly<Record<string, (directory: string) => string>> = {
  sqlite: (directory) => `kind: sqlite, sqlite: {path: ${directory}/state}`,
  kv: (directory) => `kind: kv, kv: {path: ${directory}/state}`,
};

for (const [kind, storeIn] of Object.entries(STORES)) {
  Deno.test(`a second server on one file of ${kind} ends and says why, and the first goes on`, async () => {
    let store = "";
    await using first = await startServerProcess({
      store: (directory) => store = storeIn(directory),
    });
    const createCluster = (id: string): Promise<void> =>
      createResource(first.state, Cluster, id, {
        talosVersion: TALOS_VERSION,
        kubernetesVersion: "1.34.1",
      });
    await createCluster("one");
    const second = { store: () => store };
    await rejects(startServerProcess(second), ({ message }: Error) => {
      match(
        message,
        /ended with code 1: .*another process has it open; only one server may use it/,
      );
      return true;
    });
    await createCluster("two");
    // What a server that was killed had locked is free.
    await first.end("SIGKILL");
    await first.start();
    const found = await listResources(first.state, Cluster);
    strictEqual(found.map(({ metadata }) => metadata.id).sort().join(), "one,two");
  });
}
