// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource, startHarness } from "../../cosi/testing.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterEndpoint } from "../../resources/cluster/cluster_endpoint.ts";
import { LoadBalancerConfig } from "../../resources/cluster/load_balancer_config.ts";
import { loadBalancerConfigController, planLoadBalancerConfig } from "./load_balancer_config.ts";

const ADDRESSES = { address: "fdae::1", firstPort: 10_000, lastPort: 10_002 };
const CLUSTER = fakeResource(Cluster, "c", {});
const NOTHING = {
  current: undefined,
  endpoint: undefined,
  takenPorts: new Set<number>(),
  machinesLeft: 0,
};

Deno.test("planLoadBalancerConfig() takes the lowest free port and names the control planes", () => {
  const endpoint = fakeResource(ClusterEndpoint, "c", {
    managementAddresses: ["fdae::2", "fdae::3"],
  });
  const takenPorts = new Set([10_000]);
  const plan = planLoadBalancerConfig(CLUSTER, { ...NOTHING, endpoint, takenPorts }, ADDRESSES);
  deepStrictEqual(plan, {
    kind: "write",
    spec: {
      bindPort: "10001",
      siderolinkEndpoint: "https://[fdae::1]:10001",
      endpoints: ["[fdae::2]:6443", "[fdae::3]:6443"],
    },
  });
});

Deno.test("planLoadBalancerConfig() keeps the port, though it may be outside a changed range", () => {
  const current = fakeResource(LoadBalancerConfig, "c", { bindPort: "9000" });
  const plan = planLoadBalancerConfig(CLUSTER, { ...NOTHING, current }, ADDRESSES);
  strictEqual(plan.kind === "write" && plan.spec.bindPort, "9000");
});

Deno.test("planLoadBalancerConfig() waits when all ports are taken", () => {
  const takenPorts = new Set([10_000, 10_001, 10_002]);
  strictEqual(planLoadBalancerConfig(CLUSTER, { ...NOTHING, takenPorts }, ADDRESSES).kind, "wait");
});

Deno.test("cluster.LoadBalancerConfigController gives no port twice", async () => {
  await using harness = startHarness(loadBalancerConfigController(ADDRESSES));
  await Promise.all(["a", "b", "c"].map((id) => harness.create(Cluster, id, {})));
  for (const id of ["a", "b", "c"]) await harness.eventually(LoadBalancerConfig, id, () => {});
  const ports = (await harness.list(LoadBalancerConfig)).map(({ spec }) => spec.bindPort);
  deepStrictEqual(ports.sort(), ["10000", "10001", "10002"]);

  // A port that became free is used again.
  await harness.teardown(Cluster, "b");
  await harness.eventuallyGone(LoadBalancerConfig, "b");
  await harness.create(Cluster, "d", {});
  await harness.eventually(LoadBalancerConfig, "d", () => {});
});
