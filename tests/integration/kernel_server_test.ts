// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A whole server whose tunnel is the kernel's WireGuard. It makes its interface in the network of
 * the host, so it runs in the virtual machine of `deno task test:vm` only.
 *
 * @module
 */

import assert from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { createRemoteState } from "../../cosi/state/grpc_client.ts";
import { startMachine } from "../../lab/machine.ts";
import { createWorld } from "../../lab/world.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterStatus } from "../../resources/cluster/cluster_status.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import {
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
  LABEL_WORKER_ROLE,
} from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { parseConfig } from "../../server/config/parse_config.ts";
import { startServer } from "../../server/serve.ts";
import {
  createResource,
  freeTcpPort,
  JOIN_TOKEN,
  kernelArgs,
  listResources,
  TALOS_VERSION,
  within,
} from "./server_process.ts";
import { run } from "./wireguard_go.ts";

const isPossible = Deno.env.get("BATUTA_VM") === "1";
const note = isPossible ? "" : " (skipped: runs in the machine of deno task test:vm)";
/** Generous: the machine is emulated. */
const DEADLINE_MS = 240_000;
const UDP_PORT = 50_180;
const CLUSTER = "one";

Deno.test({
  name: `a server in mode kernel makes a cluster of a machine over UDP and one over gRPC${note}`,
  ignore: !isPossible,
  fn: async () => {
    const provisionPort = freeTcpPort();
    const config = parseConfig(`
machineApiAdvertisedUrl: grpc://127.0.0.1:${provisionPort}
api: {bindAddress: "127.0.0.1:0"}
siderolink:
  bindAddress: "127.0.0.1:${provisionPort}"
  allowLocalAdvertised: true
  initialJoinToken: ${JOIN_TOKEN}
wireguard: {mode: kernel, port: ${UDP_PORT}, advertisedEndpoint: "127.0.0.1:${UDP_PORT}"}
state: {kind: memory}
machineStore: {path: ":memory:"}
talosVersions: [{version: "${TALOS_VERSION}", kubernetes: ["1.34.1"]}]
`);
    const server = await startServer(config, { log: silentLogger });
    const channel = createChannel({
      dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: server.apiPort, signal }),
      authority: "test",
    });
    const state = createRemoteState(channel);
    const world = createWorld(() => Date.now());
    const machines = [
      startMachine({ world, kernelArgs: kernelArgs(provisionPort) }),
      startMachine({ world, kernelArgs: kernelArgs(provisionPort, "&grpc_tunnel=true") }),
    ];
    const [controlPlane, worker] = machines;
    assert.ok(controlPlane !== undefined && worker !== undefined);
    const linkOf = async (id: string) =>
      (await listResources(state, Link)).find(({ metadata }) => metadata.id === id)?.spec;
    try {
      for (const { uuid } of machines) {
        await within(
          DEADLINE_MS,
          "a machine is connected",
          async () => (await linkOf(uuid))?.connected === true,
        );
      }
      await createResource(state, Cluster, CLUSTER, {
        talosVersion: TALOS_VERSION,
        kubernetesVersion: "1.34.1",
      });
      for (
        const [role, machine] of [
          [LABEL_CONTROL_PLANE_ROLE, controlPlane],
          [LABEL_WORKER_ROLE, worker],
        ] as const
      ) {
        const set = `${CLUSTER}-${machine.uuid}`;
        const labels = { [LABEL_CLUSTER]: CLUSTER, [role]: "" };
        await createResource(state, MachineSet, set, {}, labels);
        await createResource(state, MachineSetNode, machine.uuid, {}, {
          ...labels,
          [LABEL_MACHINE_SET]: set,
        });
      }
      await within(
        DEADLINE_MS,
        "the cluster is ready",
        async () => (await listResources(state, ClusterStatus)).some(({ spec }) => spec.ready),
      );
      const endpoint = (await linkOf(worker.uuid))?.virtualAddrport;
      assert.match(endpoint ?? "", /^\[fdae:41e4:649b:9304:/);
      assert.equal((await linkOf(worker.uuid))?.lastEndpoint, endpoint);
      const shown = await run("wg", "show", "siderolink", "latest-handshakes");
      const handshakes = new TextDecoder().decode(shown.stdout).trim().split("\n");
      assert.equal(handshakes.filter((line) => !line.endsWith("\t0")).length, 2);
    } finally {
      await Promise.all(machines.map((machine) => machine.close()));
      channel.close();
      await server.close();
    }
    assert.ok(!(await run("ip", "link", "show", "siderolink")).success);
  },
});
