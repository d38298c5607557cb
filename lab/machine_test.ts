// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { State } from "../proto/gen/cosi/resource_pb.ts";
import {
  ApplyConfigurationRequest_Mode as Mode,
  MachineService,
} from "../proto/gen/talos/machine_pb.ts";
import { createClient } from "../rpc/client.ts";
import { createTestCluster } from "./testing_cluster.ts";
import {
  configure,
  configuredApi,
  encode,
  failsWith,
  maintenanceApi,
  reach,
  withMachine,
} from "./testing_machine.ts";

Deno.test("startMachine() joins and answers in maintenance", () =>
  withMachine({}, async (server, machine) => {
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
    await assert.rejects(() => api.bootstrap({}), failsWith("unimplemented"));
    assert.equal(machine.calls.get("Version"), 1);
  }));

Deno.test("startMachine() becomes a one-node cluster and is given back", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const maintenance = await maintenanceApi(server, machine);
    await maintenance.metaWrite({ key: 16, value: encode("token") });
    const api = await configure(server, machine, cluster);
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

Deno.test("startMachine() boots again without an installation after a reset, as it is installed", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    await api.reset({ reboot: true, systemPartitionsToWipe: [{ label: "STATE", wipe: true }] });
    const maintenance = await maintenanceApi(server, machine);
    const { bootId } = machine;
    await maintenance.applyConfiguration({ data: encode(cluster.config("controlplane")) });
    await reach(machine, ({ services }) => services.etcd === "Preparing");
    assert.equal(machine.bootId, bootId);
  }));

Deno.test("startMachine() installs nothing on a disk that does not exist", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const maintenance = await maintenanceApi(server, machine);
    const { bootId } = machine;
    const data = encode(cluster.config("controlplane", { installDisk: "/dev/sdz" }));
    await maintenance.applyConfiguration({ data });
    await reach(machine, ({ stage }) => stage === "maintenance" && machine.bootId !== bootId);
    assert.equal(machine.installation, undefined);
    assert.equal(machine.config, undefined);
  }));

Deno.test("startMachine() refuses what it cannot apply, and keeps what it has", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const maintenance = await maintenanceApi(server, machine);
    const config = cluster.config("controlplane");
    const apply = (text: string, mode = Mode.AUTO) =>
      maintenance.applyConfiguration({ data: encode(text), mode });
    await assert.rejects(
      () => apply(config.replace("type: controlplane", "type: king")),
      (error: Error) =>
        failsWith("invalidArgument")(error) && /error.? occurred/.test(error.message),
    );
    await assert.rejects(() => apply("{"), failsWith("invalidArgument"));
    await assert.rejects(() => apply(config, Mode.STAGED), failsWith("unimplemented"));
    await assert.rejects(() => apply(config, Mode.NO_REBOOT), failsWith("unimplemented"));
    const dry = await maintenance.applyConfiguration({ data: encode(config), dryRun: true });
    assert.match(dry.messages[0]?.modeDetails ?? "", /Dry run/);
    assert.equal(machine.view().stage, "maintenance");
    const both = await Promise.allSettled([apply(config), apply(config)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  }));

Deno.test("startMachine() stays in maintenance with a partial configuration", () =>
  withMachine({}, async (server, machine) => {
    const maintenance = await maintenanceApi(server, machine);
    const data = encode(
      "apiVersion: v1alpha1\nkind: KmsgLogConfig\nname: other\nurl: tcp://[fdae:41e4:649b:9303::1]:8092\n",
    );
    await maintenance.applyConfiguration({ data });
    assert.equal(machine.view().stage, "maintenance");
    assert.match(machine.config ?? "", /KmsgLogConfig/);
  }));

Deno.test("startMachine() lets only clients of its cluster in, each by its role", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    await configure(server, machine, cluster);
    const { address } = machine.view();
    const reader = await configuredApi(server, machine, cluster, "os:reader");
    await reader.version({});
    await assert.rejects(() => reader.reboot({}), failsWith("permissionDenied"));
    const stranger = await createTestCluster("stranger");
    const credentials = {
      ...await stranger.talosCredentials("os:admin"),
      ca: cluster.bundle.certs.os.crt,
    };
    const refused = server.channel(address, credentials);
    await assert.rejects(
      () => createClient(MachineService, refused).version({}),
      failsWith("unavailable"),
    );
    const nobody = server.channel(address);
    await assert.rejects(
      () => createClient(MachineService, nobody).version({}),
      failsWith("unavailable"),
    );
  }));

Deno.test("startMachine() applies to a configured machine by what has changed", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    const config = cluster.config("controlplane");
    const immediate = config.replace("debug: false", "debug: true");
    const rebooting = config.replace(
      "    type: controlplane\n",
      "    type: controlplane\n    env:\n        A: b\n",
    );
    const apply = (text: string, mode: Mode) =>
      api.applyConfiguration({ data: encode(text), mode });
    const { bootId } = machine;
    assert.equal((await apply(immediate, Mode.AUTO)).messages[0]?.mode, Mode.NO_REBOOT);
    await assert.rejects(() => apply(rebooting, Mode.NO_REBOOT), failsWith("invalidArgument"));
    await apply(rebooting, Mode.STAGED);
    assert.match(machine.config ?? "", /debug: true/);
    assert.equal(machine.bootId, bootId);
    machine.reboot();
    await reach(
      machine,
      ({ services }) => services.etcd === "Preparing" && machine.bootId !== bootId,
    );
    assert.match(machine.config ?? "", /A: b/);
    const again = await configuredApi(server, machine, cluster);
    const second = machine.bootId;
    const reply = await again.applyConfiguration({ data: encode(config), mode: Mode.AUTO });
    assert.equal(reply.messages[0]?.mode, Mode.REBOOT);
    await reach(
      machine,
      ({ services }) => services.etcd === "Preparing" && machine.bootId !== second,
    );
    assert.doesNotMatch(machine.config ?? "", /A: b/);
  }));

Deno.test("startMachine() keeps its connections when its certificate is renewed", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    const config = cluster.config("controlplane");
    const data = encode(
      config.replace("    certSANs: []\n", "    certSANs:\n        - lab.test\n"),
    );
    const follow = api.dmesg({ follow: true })[Symbol.asyncIterator]();
    await follow.next();
    await api.applyConfiguration({ data, mode: Mode.NO_REBOOT });
    await machine.until(
      () => machine.config?.includes("lab.test") === true,
      AbortSignal.timeout(5_000),
    );
    await api.version({});
    assert.equal((await follow.next()).done, false);
    await follow.return?.();
  }));

Deno.test("startMachine() reverts a configuration that was only tried", () =>
  withMachine({}, async (server, machine) => {
    const cluster = await createTestCluster();
    const api = await configure(server, machine, cluster);
    const config = cluster.config("controlplane");
    await api.applyConfiguration({
      data: encode(config.replace("debug: false", "debug: true")),
      mode: Mode.TRY,
      tryModeTimeout: { seconds: 0n, nanos: 50_000_000 },
    });
    await machine.until(() => machine.config === config, AbortSignal.timeout(10_000));
  }));
