// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { ImageService, LifecycleService, MachineService } from "../proto/gen/talos/machine_pb.ts";
import { StorageService } from "../proto/gen/talos/storage_pb.ts";
import { createClient } from "../rpc/client.ts";
import { hardwareOf } from "./hardware.ts";
import { startMachine } from "./machine.ts";
import { createTestCluster } from "./testing_cluster.ts";
import {
  configure,
  encode,
  failsWith,
  maintenanceApi,
  reach,
  withMachine,
} from "./testing_machine.ts";

async function drain(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items) all.push(item);
  return all;
}

Deno.test("EmulatedMachine.powerOff() takes a running machine down, and its disk brings it back", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    await api.bootstrap({});
    await reach(machine, ({ stage, isReady }) => stage === "running" && isReady);
    const applied = machine.calls.get("ApplyConfiguration");
    await machine.powerOff();
    machine.powerOn();
    await reach(machine, ({ stage, isReady }) => stage === "running" && isReady);
    assert.equal(machine.calls.get("ApplyConfiguration"), applied);
    await machine.powerOff();
    machine.wipeDisk();
    machine.powerOn();
    await reach(machine, ({ stage }) => stage === "maintenance");
    assert.equal(machine.installation, undefined);
  }));

Deno.test("startMachine() resets everything, and turns itself off where it is told to", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    await assert.rejects(
      () => api.reset({ systemPartitionsToWipe: [{ label: "NONE", wipe: true }] }),
      failsWith("notFound"),
    );
    await assert.rejects(
      () => api.reset({ userDisksToWipe: ["/dev/vda"], mode: 1 }),
      failsWith("invalidArgument"),
    );
    await api.reset({ reboot: false });
    await machine.until(({ isOn }) => !isOn, AbortSignal.timeout(10_000));
    assert.equal(machine.installation, undefined);
    assert.equal(machine.config, undefined);
    machine.powerOn();
    await reach(machine, ({ stage }) => stage === "maintenance");
  }));

Deno.test("startMachine() cannot leave an etcd of its own with grace, and stays what it is", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    await api.bootstrap({});
    await reach(machine, ({ stage, isReady }) => stage === "running" && isReady);
    const { bootId } = machine;
    await api.reset({
      graceful: true,
      reboot: true,
      systemPartitionsToWipe: [{ label: "STATE", wipe: true }, { label: "EPHEMERAL", wipe: true }],
    });
    await reach(
      machine,
      ({ stage, isReady }) => stage === "running" && isReady && machine.bootId !== bootId,
    );
    assert.match(machine.config ?? "", /type: controlplane/);
  }));

Deno.test("startMachine() does one thing at a time", () =>
  withMachine({ pace: { stopMs: 1_000 } }, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    await api.reboot({});
    assert.equal(machine.view().stage, "rebooting");
    await assert.rejects(() => api.reset({}), failsWith("failedPrecondition"));
    await assert.rejects(
      () => api.applyConfiguration({ data: encode(cluster.config("controlplane")) }),
      failsWith("failedPrecondition"),
    );
  }));

Deno.test("startMachine() boots the version that an upgrade has written", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const maintenance = await maintenanceApi(server, machine);
    const image = `factory.example.org/metal-installer/${"b".repeat(64)}:v1.12.12`;
    await assert.rejects(() => maintenance.upgrade({ image }), failsWith("failedPrecondition"));
    const api = await configure(server, machine, cluster);
    await assert.rejects(() => api.upgrade({ image: "installer" }), failsWith("invalidArgument"));
    await api.upgrade({ image });
    await reach(machine, ({ version }) => version === "v1.12.12");
    assert.equal(machine.installation?.schematic, "b".repeat(64));
    assert.equal(server.joins.at(-1)?.talosVersion, "v1.12.12");
  }));

Deno.test("startMachine() of Talos 1.14 installs by call and never reboots for a configuration", () =>
  withMachine({ talosVersion: "v1.14.0" }, async (server, machine) => {
    const address = await reach(machine, ({ stage }) => stage === "maintenance");
    const channel = await server.connect(address);
    const api = createClient(MachineService, channel);
    const images = createClient(ImageService, channel);
    const lifecycle = createClient(LifecycleService, channel);
    const imageName = "ghcr.io/siderolabs/installer:v1.14.0";
    const install = (disk: string) =>
      drain(lifecycle.install({ source: { imageName }, destination: { disk } }));
    await api.serviceList({});
    await assert.rejects(() => api.bootstrap({}), failsWith("failedPrecondition"));
    await assert.rejects(() => install("/dev/vda"), failsWith("notFound"));
    await drain(images.pull({ imageRef: imageName }));
    await assert.rejects(() => install("/dev/sdz"), failsWith("invalidArgument"));
    await assert.rejects(
      () => drain(lifecycle.upgrade({ source: { imageName } })),
      failsWith("failedPrecondition"),
    );
    const { bootId } = machine;
    const progress = await install("/dev/vda");
    assert.equal(progress.length, 3);
    await assert.rejects(() => install("/dev/vda"), failsWith("alreadyExists"));
    assert.equal(machine.bootId, bootId);
    assert.equal(machine.installation?.version, "v1.14.0");
    const { messages: [disks] } = await createClient(StorageService, channel).disks({});
    assert.deepEqual(
      disks?.disks.map(({ deviceName, systemDisk }) => [deviceName, systemDisk]),
      [["/dev/vda", true]],
    );
  }));

Deno.test("startMachine() may share its UUID with another machine", () =>
  withMachine({ hardware: hardwareOf("twin", 1) }, async (server, machine) => {
    const twin = startMachine({
      kernelArgs: server.kernelArgs,
      bindAddress: "127.0.0.1",
      hardware: hardwareOf("twin", 1),
    });
    try {
      await reach(machine, ({ stage }) => stage === "maintenance");
      await reach(twin, ({ stage }) => stage === "maintenance");
      assert.equal(machine.uuid, twin.uuid);
      assert.equal(new Set(server.joins.map(({ publicKey }) => publicKey)).size, 2);
    } finally {
      await twin.close();
    }
  }));

Deno.test("EmulatedMachine.setLatency() delays every answer", () =>
  withMachine({}, async (server, machine) => {
    const api = await maintenanceApi(server, machine);
    machine.setLatency(200);
    await assert.rejects(() => api.version({}, { timeoutMs: 50 }), failsWith("deadlineExceeded"));
    machine.setLatency(0);
    await api.version({});
  }));

Deno.test("EmulatedMachine.close() ends a machine in whatever it is doing", async () => {
  const options = { kernelArgs: "siderolink.api=grpc://127.0.0.1:1", bindAddress: "127.0.0.1" };
  await startMachine(options).close();
  const off = startMachine(options);
  await off.powerOff();
  assert.equal(off.view().isOn, false);
  await off.close();
  await startMachine({ ...options, startsOff: true }).close();
});
