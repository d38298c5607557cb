// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf, type ErrorCode } from "../base/errors.ts";
import { State } from "../proto/gen/cosi/resource_pb.ts";
import {
  ApplyConfigurationRequest_Mode as Mode,
  MachineService,
} from "../proto/gen/talos/machine_pb.ts";
import { createClient } from "../rpc/client.ts";
import { type EmulatedMachine, type MachineView, startMachine } from "./machine.ts";
import { startTestServer, type TestServer } from "./testing.ts";
import { createTestCluster } from "./testing_cluster.ts";

const DEADLINE_MS = 20_000;

/** One server and one machine for a test. */
async function withMachine(
  run: (server: TestServer, machine: EmulatedMachine) => Promise<void>,
): Promise<void> {
  const server = await startTestServer();
  const machine = startMachine({
    kernelArgs: server.kernelArgs,
    bindAddress: "127.0.0.1",
  });
  try {
    await run(server, machine);
  } finally {
    await machine.close();
    await server.close();
  }
}

async function reach(
  machine: EmulatedMachine,
  condition: (view: MachineView) => boolean,
): Promise<string> {
  await machine.until(
    (view) => view.address !== "" && condition(view),
    AbortSignal.timeout(DEADLINE_MS),
  );
  return machine.view().address;
}

function failsWith(code: ErrorCode): (error: unknown) => boolean {
  return (error) => codeOf(error) === code;
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

Deno.test("startMachine() joins and answers in maintenance", () =>
  withMachine(async (server, machine) => {
    const address = await reach(machine, ({ stage }) => stage === "maintenance");
    const channel = await server.connect(address);
    const api = createClient(MachineService, channel);
    const { messages: [version] } = await api.version({});
    assert.equal(version?.version?.tag, "v1.12.11");
    const state = createClient(State, channel);
    const { resource } = await state.get({
      namespace: "runtime",
      type: "MachineStatuses.runtime.talos.dev",
      id: "machine",
    });
    assert.equal(
      resource?.spec?.yamlSpec,
      "stage: maintenance\nstatus:\n    ready: true\n    unmetConditions: []\n",
    );
    await assert.rejects(() => api.serviceList({}), failsWith("unimplemented"));
    assert.equal(machine.calls.get("Version"), 1);
  }));

Deno.test("startMachine() becomes a one-node cluster and is given back", () =>
  withMachine(async (server, machine) => {
    const cluster = await createTestCluster();
    let address = await reach(machine, ({ stage }) => stage === "maintenance");
    const maintenance = createClient(MachineService, await server.connect(address));
    await maintenance.metaWrite({ key: 16, value: encode("token") });
    await maintenance.applyConfiguration({
      data: encode(cluster.config("controlplane")),
      mode: Mode.AUTO,
    });
    const firstBoot = machine.bootId;
    await reach(machine, ({ stage }) => stage === "booting" && machine.bootId !== firstBoot);
    address = machine.view().address;
    const admin = await cluster.talosCredentials("os:admin");
    const api = createClient(MachineService, await server.connect(address, admin));
    await reach(machine, ({ services }) => services.etcd === "Preparing");
    await api.bootstrap({});
    await assert.rejects(() => api.bootstrap({}), failsWith("alreadyExists"));
    await reach(machine, ({ stage, isReady }) => stage === "running" && isReady);
    const { messages: [members] } = await api.etcdMemberList({});
    assert.equal(members?.members.length, 1);
    await api.reset({
      reboot: true,
      graceful: false,
      systemPartitionsToWipe: [{ label: "STATE", wipe: true }, { label: "EPHEMERAL", wipe: true }],
    });
    await reach(machine, ({ stage }) => stage === "maintenance");
    assert.equal(machine.config, undefined);
    assert.equal(machine.installation?.disk, "/dev/vda");
    assert.equal(machine.meta.get(16), "token");
    assert.equal(new Set(server.joins.map(({ publicKey }) => publicKey)).size, 3);
    assert.equal(server.joins.at(-1)?.nodeToken.reveal(), "token");
  }));
