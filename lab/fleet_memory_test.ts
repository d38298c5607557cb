// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { startFleet } from "./fleet.ts";
import { decodeMemory, encodeMemory, type FleetMemory } from "./fleet_memory.ts";
import { startTestServer } from "./testing.ts";
import { createTestCluster } from "./testing_cluster.ts";
import { configure, failsWith, reach } from "./testing_machine.ts";

const MEMORY: FleetMemory = {
  disks: new Map([
    ["a", { meta: new Map() }],
    ["b", {
      installation: { disk: "/dev/vda", image: "i:v1.12.11", version: "v1.12.11", schematic: "" },
      meta: new Map([[16, "token"]]),
      config: "version: v1alpha1\n",
      etcdMemberId: 2n ** 63n + 1n,
    }],
  ]),
  clusters: new Map([
    ["c", [{
      id: 2n ** 63n + 1n,
      machineId: "b",
      hostname: "h",
      peerUrl: "https://10.5.0.1:2380",
      clientUrl: "https://10.5.0.1:2379",
      isLearner: false,
    }]],
  ]),
};

Deno.test("decodeMemory() reads what encodeMemory() wrote", () => {
  assert.deepEqual(decodeMemory(encodeMemory(MEMORY)), MEMORY);
});

Deno.test("decodeMemory() refuses anything else", () => {
  for (const text of ["", "{}", "[1]", '{"disks":{"a":{"meta":1}},"clusters":{}}']) {
    assert.throws(() => decodeMemory(text), failsWith("invalidArgument"), text);
  }
});

Deno.test("startFleet() goes on from its memory", async () => {
  const server = await startTestServer();
  const options = { count: 1, kernelArgs: server.kernelArgs, bindAddress: "127.0.0.1" };
  const cluster = await createTestCluster();
  let fleet = startFleet(options);
  try {
    const [before] = fleet.machines;
    assert.ok(before);
    await (await configure(server, before, cluster)).bootstrap({});
    await reach(before, ({ stage, isReady }) => stage === "running" && isReady);
    const memory = fleet.memory();
    await fleet.close();
    fleet = startFleet({ ...options, memory });
    const [after] = fleet.machines;
    assert.ok(after);
    await reach(after, ({ stage, isReady }) => stage === "running" && isReady);
    assert.equal(after.calls.get("ApplyConfiguration"), undefined);
  } finally {
    await fleet.close();
    await server.close();
  }
});
