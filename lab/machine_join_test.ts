// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { type Clock, systemClock } from "../base/clock.ts";
import { statusOf } from "../link/events.ts";
import { MachineStatusEvent_MachineStage as Stage } from "../proto/gen/talos/machine_pb.ts";
import { startMachine } from "./machine.ts";
import { startTestServer, TEST_TOKEN } from "./testing.ts";
import { encode, failsWith, maintenanceApi, reach, withMachine } from "./testing_machine.ts";

/** A clock on which `factor` seconds pass in one. */
function fastClock(factor: number): Clock {
  const startMs = Date.now();
  return {
    nowMs: () => startMs + (Date.now() - startMs) * factor,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}

Deno.test("startMachine() with a wrong token asks again and again", async () => {
  const server = await startTestServer();
  const machine = startMachine({
    kernelArgs: server.kernelArgs.replace(TEST_TOKEN, "wrong"),
    bindAddress: "127.0.0.1",
    clock: fastClock(50),
  });
  try {
    await server.until(() => server.joins.length >= 3);
    assert.equal(machine.view().address, "");
    // In one boot the key stays the same.
    assert.equal(new Set(server.joins.map(({ publicKey }) => publicKey)).size, 1);
  } finally {
    await machine.close();
    await server.close();
  }
});

Deno.test("startMachine() asks again at once when its token or its UUID changes", () =>
  withMachine({}, async (server, machine) => {
    const api = await maintenanceApi(server, machine);
    const { address } = machine.view();
    assert.equal(server.joins[0]?.nodeToken.reveal(), "");
    await api.metaWrite({ key: 0x10, value: encode("unique") });
    await server.until(() => server.joins.length === 2);
    assert.equal(server.joins[1]?.nodeToken.reveal(), "unique");
    assert.equal(server.joins[1]?.publicKey, server.joins[0]?.publicKey);
    assert.equal(machine.view().address, address);
    // Another UUID is another machine, with another address.
    const other = "da201591-b193-433d-a24b-5f76d2aa46ca";
    await api.metaWrite({ key: 0x0f, value: encode(other) }).catch(() => {});
    await machine.until(
      (view) => view.address !== "" && view.address !== address,
      AbortSignal.timeout(10_000),
    );
    assert.equal(server.joins.at(-1)?.machineId, other);
    assert.equal(machine.view().uuid, other);
  }));

Deno.test("startMachine() provisions again with its key when the peer has been down", () =>
  withMachine({ clock: fastClock(200) }, async (server, machine) => {
    const address = await reach(machine, ({ stage }) => stage === "maintenance");
    // On the machine's fast clock the last handshake is soon more than 275 seconds old.
    await server.until(() => server.joins.length >= 2);
    assert.equal(server.joins[1]?.publicKey, server.joins[0]?.publicKey);
    assert.equal(machine.view().address, address);
  }));

Deno.test("startMachine() sends its events in order, each until it is acknowledged", async () => {
  const server = await startTestServer();
  server.failEvents = true;
  const machine = startMachine({
    kernelArgs: server.kernelArgs,
    bindAddress: "127.0.0.1",
    clock: fastClock(20),
  });
  try {
    await reach(machine, ({ stage }) => stage === "maintenance");
    assert.ok(machine.pendingEvents > 0);
    server.failEvents = false;
    await server.until(() => machine.pendingEvents <= 1);
    const stages = server.events.flatMap((event) => statusOf(event)?.stage ?? []);
    assert.deepEqual([...new Set(stages)], [Stage.BOOTING, Stage.MAINTENANCE]);
    const ids = server.events.map(({ id }) => id);
    assert.deepEqual(ids, [...new Set(ids)].sort());
  } finally {
    await machine.close();
    await server.close();
  }
});

Deno.test("startMachine() sends its kernel log, the command line with the token included", () =>
  withMachine({}, async (server, machine) => {
    await reach(machine, ({ stage }) => stage === "maintenance");
    await server.until(() => server.kernelLines.some((line) => line.includes("siderolink.api=")));
    const lines = server.kernelLines.map((line) => JSON.parse(line));
    assert.equal(lines[0]?.seq, 0);
    assert.match(lines[0]?.["talos-time"], /^\d{4}-\d\d-\d\dT/);
    // The receiver has taken the token out again.
    assert.ok(lines.some(({ msg }) => msg.includes("jointoken=REDACTED")));
  }));

Deno.test("startMachine() loses unwritten META with its power, unless it is installed", () =>
  withMachine({}, async (server, machine) => {
    const api = await maintenanceApi(server, machine);
    await api.metaWrite({ key: 0x0c, value: encode("labels") });
    await assert.rejects(() => api.metaDelete({ key: 0x0d }), failsWith("notFound"));
    await assert.rejects(() => api.metaWrite({ key: 300 }), failsWith("invalidArgument"));
    await machine.powerOff();
    assert.equal(machine.view().stage, "off");
    assert.equal(machine.meta.size, 0);
    machine.powerOn();
    await reach(machine, ({ stage }) => stage === "maintenance");
    assert.equal(new Set(server.joins.map(({ publicKey }) => publicKey)).size, 2);
  }));

Deno.test("startMachine() carries its tunnel over gRPC when its arguments say so", async () => {
  const server = await startTestServer();
  const machine = startMachine({
    kernelArgs: server.kernelArgs.replace("?jointoken=", "?grpc_tunnel=true&jointoken="),
    bindAddress: "127.0.0.1",
  });
  try {
    const api = await maintenanceApi(server, machine);
    await api.version({});
    assert.equal(server.joins[0]?.overGrpc, true);
    const [stats] = (await server.device.peers.stats()).values();
    assert.match(stats?.endpoint ?? "", /^\[fdae:41e4:649b:9304:/);
  } finally {
    await machine.close();
    await server.close();
  }
});
