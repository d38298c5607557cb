// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { SERVER_ADDRESS } from "../link/addresses.ts";
import { State } from "../proto/gen/cosi/resource_pb.ts";
import { ApplyConfigurationRequest_Mode as Mode } from "../proto/gen/talos/machine_pb.ts";
import { SecurityService } from "../proto/gen/talos/security_pb.ts";
import { createClient } from "../rpc/client.ts";
import { createRpcServer } from "../rpc/server.ts";
import { implementService } from "../rpc/service.ts";
import { wrapTlsClient, wrapTlsServer } from "../rpc/tls.ts";
import {
  issueMachineServerCertificate,
  signMachineServerRequest,
} from "../talos/config/certificates.ts";
import { parseRequest } from "../talos/config/pki.ts";
import type { EmulatedMachine } from "./machine.ts";
import type { TestCredentials, TestServer } from "./testing.ts";
import { createTestCluster, type TestCluster } from "./testing_cluster.ts";
import {
  configure,
  configuredApi,
  encode,
  failsWith,
  maintenanceApi,
  reach,
  withMachine,
  withMachines,
} from "./testing_machine.ts";
import { createWorld } from "./world.ts";

/** One request to a machine's Kubernetes API; returns status and body. */
async function ask(
  server: TestServer,
  address: string,
  credentials: Partial<TestCredentials>,
  request: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const stream = await wrapTlsClient(await server.dial(address, 6443), {
    ...credentials,
    verifyAddress: address,
    alpn: ["http/1.1"],
  });
  await stream.write(
    encode(`${request} HTTP/1.1\r\nhost: kubernetes\r\nconnection: close\r\n\r\n`),
  );
  let text = "";
  const chunk = new Uint8Array(4096);
  for (let count; (count = await stream.read(chunk)) !== null;) {
    text += new TextDecoder().decode(chunk.subarray(0, count));
  }
  stream.close();
  const [head = "", body = ""] = text.split("\r\n\r\n", 2);
  return { status: Number(head.split(" ")[1]), body };
}

/** Answers workers as the trustd of a cluster, inside the tunnel. */
async function serveTrustd(
  server: TestServer,
  { bundle }: TestCluster,
): Promise<() => Promise<void>> {
  const nowMs = Date.now();
  const certificate = await issueMachineServerCertificate(bundle.certs.os, {
    nowMs,
    ipAddresses: [SERVER_ADDRESS],
  });
  const rpc = createRpcServer({
    log: silentLogger,
    services: [implementService(SecurityService, {
      certificate: async ({ csr }, { metadata }) => {
        assert.equal(metadata.get("token"), bundle.trustdInfo.token);
        const request = await parseRequest(new TextDecoder().decode(csr));
        const crt = await signMachineServerRequest(bundle.certs.os, request, { nowMs });
        return { ca: encode(bundle.certs.os.crt), crt: encode(crt) };
      },
    })],
  });
  const listener = await server.device.net.listen(50001);
  const accepting = (async () => {
    for await (const incoming of listener) {
      const secure = await wrapTlsServer(incoming.stream, {
        cert: certificate.crt,
        key: certificate.key,
      });
      void rpc.handle({ ...incoming, stream: secure });
    }
  })();
  return async () => {
    listener.close();
    await rpc.drain(0);
    await accepting;
  };
}

/** The members of its cluster that a machine knows of. */
async function memberNames(
  server: TestServer,
  machine: EmulatedMachine,
  cluster: TestCluster,
): Promise<string[]> {
  const credentials = await cluster.talosCredentials("os:reader");
  const channel = await server.connect(machine.view().address, credentials);
  const names: string[] = [];
  const list = createClient(State, channel).list({
    namespace: "cluster",
    type: "Members.cluster.talos.dev",
  });
  for await (const { resource } of list) names.push(resource?.metadata?.id ?? "");
  return names;
}

Deno.test("startMachine() answers the Kubernetes API of its cluster", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    await api.bootstrap({});
    const address = await reach(machine, ({ stage, isReady }) => stage === "running" && isReady);
    const admin = await cluster.kubernetesCredentials();
    const name = machine.view().hostname;
    const { body } = await ask(server, address, admin, "GET /api/v1/nodes");
    assert.deepEqual(
      JSON.parse(body).items.map((node: { metadata: { name: string } }) => node.metadata.name),
      [name],
    );
    assert.equal((await ask(server, address, { ca: admin.ca }, "GET /readyz")).status, 401);
    const stranger = await createTestCluster("stranger");
    const foreign = { ...await stranger.kubernetesCredentials(), ca: admin.ca };
    assert.equal((await ask(server, address, foreign, "GET /readyz")).status, 401);
    assert.equal((await ask(server, address, admin, "GET /readyz")).status, 200);
    assert.equal((await ask(server, address, admin, `DELETE /api/v1/nodes/${name}`)).status, 200);
    assert.equal((await ask(server, address, admin, `GET /api/v1/nodes/${name}`)).status, 404);
  }));

Deno.test("startMachine() as a worker listens only once trustd has answered", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const maintenance = await maintenanceApi(server, machine);
    await maintenance.applyConfiguration({
      data: encode(cluster.config("worker")),
      mode: Mode.AUTO,
    });
    const address = await reach(machine, ({ services }) => services.apid === "Waiting");
    await machine.until(() => (machine.calls.get("trustd") ?? 0) > 0, AbortSignal.timeout(10_000));
    await assert.rejects(() => server.dial(address, 50000), failsWith("unavailable"));
    const stop = await serveTrustd(server, cluster);
    try {
      const api = await configuredApi(server, machine, cluster);
      await api.version({});
      await assert.rejects(() => api.bootstrap({}), failsWith("invalidArgument"));
      await assert.rejects(() => api.etcdMemberList({}), failsWith("failedPrecondition"));
    } finally {
      await stop();
    }
  }));

Deno.test("startFleet() members join the etcd of their cluster and leave it", () =>
  withMachines(3, { world: createWorld() }, async (server, machines) => {
    const cluster = await createTestCluster();
    const [first, second, third] = machines as [EmulatedMachine, EmulatedMachine, EmulatedMachine];
    const apis = await Promise.all(machines.map((machine) => configure(server, machine, cluster)));
    const [one, two] = apis as [typeof apis[0], typeof apis[0]];
    await one.bootstrap({});
    for (const machine of machines) {
      await reach(machine, ({ stage, isReady }) => stage === "running" && isReady);
    }
    await assert.rejects(() => two.bootstrap({}), failsWith("alreadyExists"));
    assert.deepEqual(
      await memberNames(server, first, cluster),
      machines.map((machine) => machine.view().hostname).sort(),
    );
    const members = (await one.etcdMemberList({})).messages[0]?.members ?? [];
    assert.equal(members.length, 3);
    assert.ok(members.every(({ id, isLearner }) => id !== 0n && !isLearner));
    await two.etcdForfeitLeadership({});
    await two.etcdLeaveCluster({});
    await second.until(({ services }) => services.etcd === "Finished", AbortSignal.timeout(5_000));
    const lost = members.find(({ hostname }) => hostname === third.view().hostname)?.id ?? 0n;
    await third.powerOff();
    // Of two members one is down: without a majority nobody can be removed.
    await assert.rejects(
      () => one.etcdRemoveMemberByID({ memberId: lost }),
      failsWith("unavailable"),
    );
    third.powerOn();
    await reach(third, ({ services }) => services.etcd === "Running");
    await one.etcdRemoveMemberByID({ memberId: lost });
    await third.until(({ services }) => services.etcd === "Failed", AbortSignal.timeout(5_000));
    assert.equal((await one.etcdMemberList({})).messages[0]?.members.length, 1);
    await assert.rejects(() => one.etcdLeaveCluster({}), failsWith("failedPrecondition"));
    assert.equal(first.view().stage, "running");
  }));
