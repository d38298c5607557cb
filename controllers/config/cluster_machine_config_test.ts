// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { fakeResource } from "../../cosi/testing.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterSecret } from "../../resources/cluster/cluster_secret.ts";
import { LoadBalancerConfig } from "../../resources/cluster/load_balancer_config.ts";
import { TalosConfig } from "../../resources/talos/talos_config.ts";
import { type ConfigFacts, planClusterMachineConfig } from "./cluster_machine_config.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";

const NOTHING: ConfigFacts = {
  secrets: undefined,
  version: undefined,
  credentials: undefined,
  balancer: undefined,
  joinConfig: undefined,
  genOptions: undefined,
  installDisk: undefined,
  patches: undefined,
  current: undefined,
};

Deno.test("planClusterMachineConfig() waits for what the machine needs, one after the other", () => {
  const facts: Partial<ConfigFacts>[] = [
    {},
    { version: fakeResource(ClusterConfigVersion, "c", { version: "v1.12" }) },
    { secrets: fakeResource(ClusterSecret, "c", {}) },
    // A machine that has its configuration answers nobody without them.
    { credentials: fakeResource(TalosConfig, "c", {}) },
    { balancer: fakeResource(LoadBalancerConfig, "c", { bindPort: "10000" }) },
  ];
  const reasons: string[] = [];
  let known = NOTHING;
  for (const more of facts) {
    known = { ...known, ...more };
    const plan = planClusterMachineConfig(fakeResource(ClusterMachine, ID, {}), known, {
      factoryHost: "factory.example",
      template: undefined,
    });
    reasons.push(plan.kind === "wait" ? plan.reason : plan.kind);
  }
  deepStrictEqual(reasons, [
    "the cluster's version contract is not known yet",
    "the cluster has no secrets yet",
    "the cluster has no credentials yet",
    "the cluster has no balancer port yet",
    "the machine's join configuration is not made yet",
  ]);
});
