// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { fakeResource, type MetadataInit } from "../../cosi/testing.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import {
  LABEL_CLUSTER,
  LABEL_CLUSTER_MACHINE,
  LABEL_DISABLED,
  LABEL_MACHINE,
  LABEL_MACHINE_SET,
} from "../../resources/labels.ts";
import { patchesOf } from "./cluster_machine_config_patches.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const CLUSTER = { [LABEL_CLUSTER]: "c" };
const MACHINE = fakeResource(ClusterMachine, ID, {}, {
  labels: { ...CLUSTER, [LABEL_MACHINE_SET]: "c-workers" },
});

function patch(id: string, labels: Record<string, string>, metadata: MetadataInit = {}) {
  return fakeResource(ConfigPatch, id, { data: id }, { labels, ...metadata });
}

function order(
  ofMachine: ReturnType<typeof patch>[],
  ofCluster: ReturnType<typeof patch>[],
): string[] {
  return patchesOf(MACHINE, { ofMachine, ofCluster }).map(({ metadata }) => metadata.id);
}

Deno.test("patchesOf() applies scopes from wide to narrow, whatever their weights", () => {
  const ofMachine = [patch("900-machine", { [LABEL_MACHINE]: ID })];
  const ofCluster = [
    patch("100-in-cluster", { ...CLUSTER, [LABEL_CLUSTER_MACHINE]: ID }),
    patch("200-set", { ...CLUSTER, [LABEL_MACHINE_SET]: "c-workers" }),
    patch("800-cluster", CLUSTER),
  ];
  deepStrictEqual(order(ofMachine, ofCluster), [
    "900-machine",
    "800-cluster",
    "200-set",
    "100-in-cluster",
  ]);
});

Deno.test("patchesOf() leaves out patches of other sets and machines", () => {
  deepStrictEqual(
    order([], [
      patch("200-other-set", { ...CLUSTER, [LABEL_MACHINE_SET]: "c-control-planes" }),
      patch("300-other-machine", { ...CLUSTER, [LABEL_CLUSTER_MACHINE]: "another" }),
      patch("400-here", {
        ...CLUSTER,
        [LABEL_MACHINE_SET]: "c-workers",
        [LABEL_CLUSTER_MACHINE]: ID,
      }),
    ]),
    ["400-here"],
  );
});

Deno.test("patchesOf() leaves out patches that are disabled or being removed", () => {
  deepStrictEqual(
    order([], [
      patch("100-disabled", { ...CLUSTER, [LABEL_DISABLED]: "" }),
      patch("200-going", CLUSTER, { phase: "tearingDown" }),
      patch("300-kept", CLUSTER),
    ]),
    ["300-kept"],
  );
});
