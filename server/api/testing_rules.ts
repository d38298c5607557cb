// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the tests of rules share: a filled state, and cases with the fields that a refusal names.
 *
 * @module
 */

import { create, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ok, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import type { Metadata, ResourceType } from "../../cosi/resource.ts";
import { openState, type StateCore } from "../../cosi/state/core.ts";
import type { ResourceDraft } from "../../cosi/state/state.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { MachineSet } from "../../resources/cluster/machine_set.ts";
import { MachineSetNode } from "../../resources/cluster/machine_set_node.ts";
import { MachineClass } from "../../resources/machine/machine_class.ts";
import { InfraProvider } from "../../resources/provider/infra_provider.ts";
import { TalosVersion } from "../../resources/talos/talos_version.ts";
import { createDecompressor } from "../compression/dictionary.ts";
import { putResource } from "../put_resource.ts";
import { createContentChecks } from "./content_checks.ts";
import { createPolicy } from "./policy.ts";

const PEER = { remoteAddress: "127.0.0.1", remotePort: 1 };
export const MACHINE = "da201591-b193-433d-a24b-5f76d2aa46ca";
export const CLUSTER = "omni.sidero.dev/cluster";
export const SET = "omni.sidero.dev/machine-set";
export const CONTROL_PLANE = { [CLUSTER]: "a", "omni.sidero.dev/role-controlplane": "" };
export const WORKER = { [CLUSTER]: "a", "omni.sidero.dev/role-worker": "" };
export const CP_NODE = { ...CONTROL_PLANE, [SET]: "a-control-planes" };
export const WORKER_NODE = { ...WORKER, [SET]: "a-workers" };
export const VERSIONS = { talosVersion: "11.0", kubernetesVersion: "1.34.1" };
export const LOCKED = { "omni.sidero.dev/cluster-locked": "" };

/** What a client sends, and the fields that the refusal names; none when it is accepted. */
export interface Case<T extends ResourceType = ResourceType> {
  readonly type: T;
  readonly verb?: "create" | "update" | "teardown" | "destroy";
  readonly id: string;
  readonly spec?: MessageInitShape<T["schema"]>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly refused?: readonly string[];
}

/** Keeps the spec of a case typed by its own type. */
export function of<T extends ResourceType>(one: Case<T>): Case {
  return one as unknown as Case;
}

async function fill(state: StateCore): Promise<void> {
  const put = <T extends ResourceType>(
    type: T,
    id: string,
    spec: MessageInitShape<T["schema"]>,
    labels: Readonly<Record<string, string>> = {},
    annotations: Readonly<Record<string, string>> = {},
  ) => putResource(state, type, { id, spec, labels, annotations });
  const kubernetes = { compatibleKubernetesVersions: ["1.34.1", "1.34.2"] };
  await put(TalosVersion, "11.0", { version: "11.0", ...kubernetes }, {}, {
    "batuta.altlinux.org/talos-version": "1.12.10",
  });
  await put(TalosVersion, "1.11.5", { version: "1.11.5", ...kubernetes });
  await put(Cluster, "a", VERSIONS);
  await put(ClusterConfigVersion, "a", { version: "v1.12.10" });
  await put(Cluster, "locked", VERSIONS, {}, LOCKED);
  await put(MachineClass, "class", { matchLabels: ["a"] });
  await put(MachineClass, "unused", { matchLabels: ["a"] });
  await put(MachineSet, "a-control-planes", {}, CONTROL_PLANE);
  await put(MachineSet, "a-workers", {}, WORKER);
  await put(MachineSet, "a-classed", { machineAllocation: { name: "class" } }, WORKER);
  await put(MachineSetNode, MACHINE, {}, CP_NODE);
  await put(MachineSetNode, MACHINE.replace("d", "b"), {}, WORKER_NODE, {
    "omni.sidero.dev/locked": "",
  });
  await put(ClusterMachine, MACHINE, {});
  await put(InfraProvider, "proxmox", {});
}

function draftOf({ type, id, spec, labels = {}, annotations = {} }: Case): ResourceDraft {
  const metadata: Metadata = {
    namespace: type.namespace,
    type: type.type,
    id,
    version: 0,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels,
    annotations,
  };
  const message: Message = create(type.schema, spec);
  return { metadata, protoSpec: toBinary(type.schema, message), yamlSpec: "" };
}

/** Declares a test for each case. */
export function testRules(cases: readonly Case[]): void {
  for (const [index, one] of cases.entries()) {
    const { type, id, verb = "create", refused = [] } = one;
    const what = `${verb} ${type.display.displayType} "${id}"`;
    const verdict = refused.length === 0 ? "accepts" : `names ${refused.join(", ")} in`;
    Deno.test(`createPolicy() ${verdict} ${what} (case ${index})`, async () => {
      const state = await openState({ store: openMemoryStore() });
      try {
        await fill(state);
        const policy = createPolicy({
          types: CATALOGUE,
          peek: (ref) => state.peek(ref),
          checkReferences: createContentChecks(state, createDecompressor(undefined)),
        });
        const draft = draftOf(one);
        let message = "";
        try {
          const isWrite = verb === "create" || verb === "update";
          policy.check(verb, draft.metadata, PEER, isWrite ? draft : undefined);
        } catch (error) {
          ok(error instanceof CodedError && error.code === "invalidArgument", String(error));
          message = error.message;
        }
        strictEqual(message === "", refused.length === 0, message);
        for (const field of refused) ok(message.includes(`${field} `), message);
      } finally {
        await state.close();
      }
    });
  }
}
