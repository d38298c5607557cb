// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import type { State } from "../../cosi/state/state.ts";
import { type EmulatedMachine, startMachine } from "../../lab/machine.ts";
import { createWorld, type World } from "../../lab/world.ts";
import { startDevice } from "../../link/device.ts";
import { runOverGrpc } from "../../link/wireguard_over_grpc.ts";
import { silentLogger } from "../../base/log.ts";
import { generateKey } from "../../link/keys.ts";
import { ProvisionService } from "../../proto/gen/siderolink/link_pb.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterBootstrapStatus } from "../../resources/cluster/cluster_bootstrap_status.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineStatus } from "../../resources/cluster/cluster_machine_status.ts";
import { ClusterStatus } from "../../resources/cluster/cluster_status.ts";
import { LoadBalancerConfig } from "../../resources/cluster/load_balancer_config.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { MachineSetStatus } from "../../resources/cluster/machine_set_status.ts";
import { ClusterMachineConfigStatus } from "../../resources/config/cluster_machine_config_status.ts";
import {
  LABEL_CLUSTER,
  LABEL_CONTROL_PLANE_ROLE,
  LABEL_MACHINE_SET,
  LABEL_WORKER_ROLE,
} from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { createChannel, createClient } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import {
  createResource,
  JOIN_TOKEN,
  listResources,
  type ServerProcess,
  startServerProcess,
  TALOS_VERSION,
  within,
} from "./server_process.ts";

const CLUSTER = "one";
const SET = "one-control-planes";

/** Generous: the tests share their processors with others. */
const DEADLINE_MS = 120_000;

/** Machines of one world can be in one cluster. */
const WORLD = createWorld(() => Date.now());

function startTestMachine(
  server: ServerProcess,
  world?: World,
): EmulatedMachine & AsyncDisposable {
  const { kernelArgs } = server;
  const machine = startMachine({ kernelArgs, ...(world === undefined ? {} : { world }) });
  return Object.assign(machine, { [Symbol.asyncDispose]: () => machine.close() });
}

async function createCluster(
  state: State,
  controlPlanes: readonly string[],
  workers: readonly string[] = [],
): Promise<void> {
  await createResource(state, Cluster, CLUSTER, {
    talosVersion: TALOS_VERSION,
    kubernetesVersion: "1.34.1",
  });
  await createSet(state, SET, LABEL_CONTROL_PLANE_ROLE, controlPlanes);
  if (workers.length > 0) await createSet(state, "one-workers", LABEL_WORKER_ROLE, workers);
}

async function createSet(
  state: State,
  set: string,
  role: string,
  machineIds: readonly string[],
): Promise<void> {
  const labels = { [LABEL_CLUSTER]: CLUSTER, [role]: "" };
  await createResource(state, MachineSet, set, {}, labels);
  for (const id of machineIds) {
    await createResource(state, MachineSetNode, id, {}, { ...labels, [LABEL_MACHINE_SET]: set });
  }
}

async function isReady(state: State): Promise<boolean> {
  const statuses = await listResources(state, ClusterStatus);
  return statuses.some(({ spec }) => spec.ready);
}

async function untilInventoried(state: State, machineId: string): Promise<void> {
  await within(DEADLINE_MS, "the machine is inventoried", async () => {
    const statuses = await listResources(state, MachineStatus);
    return statuses.some(({ metadata, spec }) =>
      metadata.id === machineId && (spec.hardware?.blockdevices.length ?? 0) > 0
    );
  });
}

Deno.test("a machine joins, becomes a cluster of one node and is given back", async () => {
  await using server = await startServerProcess();
  await using machine = startTestMachine(server);
  const { state } = server;
  await untilInventoried(state, machine.uuid);
  await createCluster(state, [machine.uuid]);
  await within(DEADLINE_MS, "the cluster is ready", () => isReady(state));
  strictEqual(machine.view().stage, "running");

  await state.teardownAndDestroy({ namespace: "default", type: Cluster.type, id: CLUSTER });
  await within(
    DEADLINE_MS,
    "the machine is in maintenance",
    () => machine.view().stage === "maintenance",
  );
  strictEqual(machine.config, undefined);
  const derived = [
    ClusterStatus,
    ClusterBootstrapStatus,
    ClusterMachine,
    ClusterMachineStatus,
    ClusterMachineConfigStatus,
    LoadBalancerConfig,
    MachineSet,
    MachineSetNode,
    MachineSetStatus,
  ];
  await within(DEADLINE_MS, "everything derived is gone", async () => {
    const left = await Promise.all(derived.map((type) => listResources(state, type)));
    return left.flat().length === 0;
  });
  const called = ["ApplyConfiguration", "Bootstrap", "Reset"];
  deepStrictEqual(called.map((name) => machine.calls.get(name)), [1, 1, 1]);
});

Deno.test("three control planes and two workers become a cluster and are given back", async () => {
  await using server = await startServerProcess();
  const { state } = server;
  const machines = Array.from({ length: 5 }, () => startTestMachine(server, WORLD));
  await using cleanup = new AsyncDisposableStack();
  for (const machine of machines) cleanup.use(machine);
  for (const { uuid } of machines) await untilInventoried(state, uuid);
  const [controlPlanes, workers] = [machines.slice(0, 3), machines.slice(3)];
  await createCluster(
    state,
    controlPlanes.map(({ uuid }) => uuid),
    workers.map(({ uuid }) => uuid),
  );
  await within(DEADLINE_MS, "the cluster is ready", () => isReady(state));
  const [status] = await listResources(state, ClusterStatus);
  deepStrictEqual([status?.spec.machines?.total, status?.spec.machines?.healthy], [5, 5]);

  // One control plane leaves: it gives up its member of etcd by itself.
  const leaving = controlPlanes[2];
  await state.teardownAndDestroy({
    namespace: "default",
    type: MachineSetNode.type,
    id: leaving?.uuid ?? "",
  });
  await within(
    DEADLINE_MS,
    "the machine is in maintenance",
    () => leaving?.view().stage === "maintenance",
  );
  strictEqual(leaving?.calls.get("EtcdLeaveCluster"), 1);
  await within(DEADLINE_MS, "the cluster is ready again", () => isReady(state));

  await state.teardownAndDestroy({ namespace: "default", type: Cluster.type, id: CLUSTER });
  await within(
    DEADLINE_MS,
    "all machines are in maintenance",
    () => machines.every((machine) => machine.view().stage === "maintenance"),
  );
  const bootstraps = machines.map((machine) => machine.calls.get("Bootstrap") ?? 0);
  strictEqual(bootstraps.reduce((sum, count) => sum + count), 1);
  deepStrictEqual(machines.map((machine) => machine.calls.get("Reset")), [1, 1, 1, 1, 1]);
});

Deno.test("a server that was killed goes on where it was", async () => {
  await using server = await startServerProcess();
  await using machine = startTestMachine(server);
  const { state } = server;
  await untilInventoried(state, machine.uuid);
  await createCluster(state, [machine.uuid]);
  await within(
    DEADLINE_MS,
    "the configuration is applied",
    () => machine.calls.get("ApplyConfiguration") === 1,
  );
  await server.end("SIGKILL");
  await server.start();
  await within(DEADLINE_MS, "the cluster is ready", () => isReady(state));
  strictEqual(machine.calls.get("ApplyConfiguration"), 1);
  strictEqual(machine.calls.get("Bootstrap"), 1);

  // Again, with everything running: the tunnel comes back and nothing is done twice.
  await server.end("SIGKILL");
  await server.start();
  await within(DEADLINE_MS, "the machine is connected", async () => {
    const links = await listResources(state, Link);
    return links.some(({ spec }) => spec.connected);
  });
  await within(DEADLINE_MS, "the cluster is ready", () => isReady(state));
  strictEqual(machine.calls.get("ApplyConfiguration"), 1);
  strictEqual(machine.calls.get("Bootstrap"), 1);
});

Deno.test("the kernel log of a machine can be read, without the join token", async () => {
  await using server = await startServerProcess();
  await using machine = startTestMachine(server);
  await untilInventoried(server.state, machine.uuid);
  let text = "";
  // The log comes by a connection of its own, and may be later than the inventory.
  await within(DEADLINE_MS, "the command line of the kernel is in the log", async () => {
    const { success, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "-A", "--no-check", "main.ts", "ctl", "logs", machine.uuid, "--raw"],
        ...["--endpoint", `http://127.0.0.1:${server.apiPort}`],
      ],
      env: { DENO_NO_UPDATE_CHECK: "1" },
    }).output();
    strictEqual(success, true);
    text = new TextDecoder().decode(stdout);
    return text.includes("jointoken=REDACTED");
  });
  strictEqual(text.includes(JOIN_TOKEN), false);
});

Deno.test("a server stops cleanly on SIGTERM while machines are connected", async () => {
  await using server = await startServerProcess();
  await using machine = startTestMachine(server);
  await untilInventoried(server.state, machine.uuid);
  const start = performance.now();
  strictEqual(await server.end("SIGTERM"), 0);
  // The bound is the server's own: it cuts a slow stop short.
  strictEqual(performance.now() - start < 10_000, true);
});

Deno.test("provision refuses wrong tokens and malformed requests, and writes nothing", async () => {
  await using server = await startServerProcess();
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: server.provisionPort, signal }),
    authority: "provision",
  });
  const client = createClient(ProvisionService, channel);
  const valid = {
    nodeUuid: "0c9f4e1e-52a4-4c0c-9a43-0b7f7c1d0001",
    nodePublicKey: generateKey().publicKey,
    joinToken: JOIN_TOKEN,
  };
  const refusals = [
    [{ ...valid, joinToken: "wrong" }, "permissionDenied"],
    [{ ...valid, joinToken: "" }, "permissionDenied"],
    [{ ...valid, joinToken: "v2:bm90IGpzb24=" }, "permissionDenied"],
    [{ ...valid, nodePublicKey: "short" }, "invalidArgument"],
    [{ ...valid, nodeUuid: "not a uuid" }, "invalidArgument"],
  ] as const;
  try {
    for (const [request, code] of refusals) {
      await rejects(
        client.provision(request),
        (error) => error instanceof CodedError && error.code === code,
      );
    }
    deepStrictEqual(await listResources(server.state, Link), []);
    deepStrictEqual(await listResources(server.state, Machine), []);

    const reply = await client.provision(valid);
    // Asking again is answered alike: a machine does so for every endpoint.
    deepStrictEqual(await client.provision(valid), reply);
    strictEqual((await listResources(server.state, Link)).length, 1);
  } finally {
    channel.close();
  }
});

Deno.test("a machine joins over gRPC where no UDP goes", async () => {
  await using server = await startServerProcess();
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: server.provisionPort, signal }),
    authority: "provision",
  });
  const stop = new AbortController();
  const key = generateKey();
  const nodeUuid = "0c9f4e1e-52a4-4c0c-9a43-0b7f7c1d0002";
  const reply = await createClient(ProvisionService, channel).provision({
    nodeUuid,
    nodePublicKey: key.publicKey,
    joinToken: JOIN_TOKEN,
    wireguardOverGrpc: true,
  });
  const endpoint = reply.grpcPeerAddrPort;
  deepStrictEqual(reply.serverEndpoint, [endpoint]);
  const device = await startDevice({
    privateKey: key.privateKey,
    port: 0,
    bindAddress: "127.0.0.1",
    address: reply.nodeAddressPrefix.replace(/\/.*$/, ""),
    log: silentLogger,
  });
  const { packets } = device;
  const relaying = runOverGrpc({ channel, packets, endpoint, signal: stop.signal }).catch(() => {});
  try {
    await device.peers.put("server", {
      publicKey: reply.serverPublicKey,
      allowedIp: reply.serverAddress,
      endpoint,
      keepaliveSeconds: 25,
    });
    // The kernel log port stands for all of the server's ports inside the tunnel.
    const stream = await device.net.dial(reply.serverAddress, 8092);
    stream.close();
    await within(DEADLINE_MS, "the link is connected", async () => {
      const links = await listResources(server.state, Link);
      return links.some(({ metadata, spec }) => metadata.id === nodeUuid && spec.connected);
    });
  } finally {
    stop.abort();
    channel.close();
    await relaying;
    await device.close();
  }
});
