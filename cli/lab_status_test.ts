// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import {
  describeChanges,
  describeLag,
  describeNextSteps,
  haveJoined,
  isRunning,
  type LabCluster,
  type LabMachine,
  renderTable,
} from "./lab_status.ts";

const machine = (changes: Partial<LabMachine> = {}): LabMachine => ({
  id: "m1",
  hostname: "talos-a",
  isConnected: true,
  stage: "running",
  cluster: "lab",
  error: "",
  ...changes,
});

const cluster = (changes: Partial<LabCluster> = {}): LabCluster => ({
  id: "lab",
  phase: "running",
  isReady: true,
  healthy: 1,
  total: 1,
  ...changes,
});

Deno.test("isRunning() wants the phase and readiness of the right cluster", () => {
  const running = (changes: Partial<LabCluster>): boolean =>
    isRunning({ machines: [], clusters: [cluster(changes)] }, "lab");
  assert.equal(running({}), true);
  assert.equal(running({ isReady: false }), false);
  assert.equal(running({ phase: "scaling up" }), false);
  assert.equal(running({ id: "other" }), false);
});

Deno.test("haveJoined() counts connected machines", () => {
  const status = { machines: [machine(), machine({ isConnected: false })], clusters: [] };
  assert.equal(haveJoined(status, 1), true);
  assert.equal(haveJoined(status, 2), false);
});

Deno.test("renderTable() aligns columns and sums up what is too long", () => {
  assert.deepEqual(
    renderTable({
      machines: [
        machine(),
        machine({ id: "m2", hostname: "", stage: "", cluster: "", isConnected: false }),
      ],
      clusters: [cluster({ isReady: false, healthy: 0 })],
    }),
    [
      "MACHINE  HOSTNAME  CONNECTED  STAGE    CLUSTER",
      "m1       talos-a   yes        running  lab",
      "m2       -         no         -        -",
      "",
      'cluster "lab": running, not ready, 0 of 1 machines healthy',
    ],
  );
  const machines = Array.from({ length: 50 }, (_, index) => machine({ id: String(index) }));
  assert.equal(renderTable({ machines, clusters: [] }).at(-1), "and 35 more");
});

Deno.test("describeChanges() tells what is new and nothing else", () => {
  const before = { machines: [machine({ isConnected: false, stage: "" })], clusters: [] };
  const after = { machines: [machine()], clusters: [cluster()] };
  assert.deepEqual(describeChanges(before, after), [
    "machine m1 is connected",
    "machine m1 is running",
    'cluster "lab": running, ready, 1 of 1 machines healthy',
  ]);
  assert.deepEqual(describeChanges(after, after), []);
  assert.deepEqual(
    describeChanges(after, { machines: [machine({ isConnected: false })], clusters: [] }),
    [
      "machine m1 is disconnected",
      'cluster "lab" is gone',
    ],
  );
});

Deno.test("describeLag() names what is missing and why", () => {
  const status = {
    machines: [
      machine({ stage: "installing", error: "disk is full" }),
      machine({ id: "m2", cluster: "", isConnected: false }),
    ],
    clusters: [cluster({ phase: "scaling up", isReady: false, healthy: 0 })],
  };
  assert.deepEqual(describeLag(status, 3), [
    'cluster "lab": scaling up, not ready, 0 of 1 machines healthy',
    "1 of 3 machines are connected",
    "machine m1 is installing: disk is full",
  ]);
});

Deno.test("describeNextSteps() gives commands that fit the lab", () => {
  const steps = {
    done: 'cluster "lab" is running',
    cluster: "lab",
    machines: 3,
    ctl: "batuta ctl",
    hasExamples: true,
    endpoint: "http://127.0.0.1:9",
    isThrowAway: true,
  };
  const lines = describeNextSteps(steps);
  assert.ok(lines.includes("  batuta ctl list machines --endpoint http://127.0.0.1:9"));
  assert.ok(lines.some((line) => line.includes("workers.yaml")));
  assert.ok(lines.includes("Ctrl-C ends the lab and throws its state away."));
  const packed = describeNextSteps({ ...steps, hasExamples: false, endpoint: "" });
  assert.ok(packed.includes("  batuta ctl delete cluster lab"));
  assert.ok(!packed.some((line) => line.includes("docs/examples")));
  const { cluster: _, ...without } = steps;
  assert.ok(
    describeNextSteps(without).some((line) => line.includes("apply -f docs/examples/cluster.yaml")),
  );
});
