// SPDX-License-Identifier: AGPL-3.0-or-later

// Every rule of a user type: what breaks it, and the field that the refusal names.

import { create, type Message, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ok, strictEqual } from "node:assert/strict";
import { zstdCompressSync } from "node:zlib";
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
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import { MachineClass } from "../../resources/machine/machine_class.ts";
import { MachineInstallDiskConfig } from "../../resources/machine/machine_install_disk_config.ts";
import { InfraProvider } from "../../resources/provider/infra_provider.ts";
import { MachineRequest } from "../../resources/provider/machine_request.ts";
import { ExtensionsConfiguration } from "../../resources/talos/extensions_configuration.ts";
import { KernelArg } from "../../resources/talos/kernel_arg.ts";
import { TalosVersion } from "../../resources/talos/talos_version.ts";
import { createDecompressor } from "../compression/dictionary.ts";
import { putResource } from "../put_resource.ts";
import { createContentChecks } from "./content_checks.ts";
import { createPolicy } from "./policy.ts";

const PEER = { remoteAddress: "127.0.0.1", remotePort: 1 };
const MACHINE = "da201591-b193-433d-a24b-5f76d2aa46ca";
const CLUSTER = "omni.sidero.dev/cluster";
const SET = "omni.sidero.dev/machine-set";
const CONTROL_PLANE = { [CLUSTER]: "a", "omni.sidero.dev/role-controlplane": "" };
const WORKER = { [CLUSTER]: "a", "omni.sidero.dev/role-worker": "" };
const CP_NODE = { ...CONTROL_PLANE, [SET]: "a-control-planes" };
const WORKER_NODE = { ...WORKER, [SET]: "a-workers" };
const VERSIONS = { talosVersion: "11.0", kubernetesVersion: "1.34.1" };
const LOCKED = { "omni.sidero.dev/cluster-locked": "" };

/** What a client sends, and the fields that the refusal names; none when it is accepted. */
interface Case<T extends ResourceType = ResourceType> {
  readonly type: T;
  readonly verb?: "create" | "update" | "teardown" | "destroy";
  readonly id: string;
  readonly spec?: MessageInitShape<T["schema"]>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly refused?: readonly string[];
}

/** Keeps the spec of a case typed by its own type. */
function of<T extends ResourceType>(one: Case<T>): Case {
  return one as unknown as Case;
}

function compressed(text: string): Uint8Array {
  return new Uint8Array(zstdCompressSync(new TextEncoder().encode(text)));
}

const CASES: readonly Case[] = [
  of({ type: Cluster, id: "new_1-a", spec: VERSIONS }),
  of({ type: Cluster, id: "a b", spec: VERSIONS, refused: ["metadata.id"] }),
  of({
    type: Cluster,
    id: "n",
    refused: ["spec.talosVersion", "spec.kubernetesVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, talosVersion: "v11.0" },
    refused: ["spec.talosVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, talosVersion: "1.99.0" },
    refused: ["spec.talosVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, kubernetesVersion: "1.20.0" },
    refused: ["spec.kubernetesVersion"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: { ...VERSIONS, features: { diskEncryption: true } },
    refused: ["spec.features.diskEncryption"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: {
      ...VERSIONS,
      backupConfiguration: { enabled: true, interval: { seconds: 60n, nanos: 0 } },
    },
    refused: ["spec.backupConfiguration.interval"],
  }),
  of({
    type: Cluster,
    id: "n",
    spec: {
      ...VERSIONS,
      backupConfiguration: { enabled: true, interval: { seconds: 7200n, nanos: 0 } },
    },
  }),
  of({ type: Cluster, verb: "update", id: "a", spec: { ...VERSIONS, features: {} } }),
  of({
    type: Cluster,
    verb: "update",
    id: "a",
    spec: { ...VERSIONS, talosVersion: "1.11.5" },
    refused: ["spec.talosVersion"],
  }),
  of({
    type: Cluster,
    verb: "update",
    id: "locked",
    spec: { ...VERSIONS, kubernetesVersion: "1.34.2" },
    annotations: LOCKED,
    refused: ["spec"],
  }),
  of({
    type: Cluster,
    verb: "update",
    id: "locked",
    spec: { ...VERSIONS, kubernetesVersion: "1.34.2" },
  }),
  of({ type: Cluster, verb: "teardown", id: "locked", refused: ["the cluster"] }),
  of({ type: Cluster, verb: "destroy", id: "locked", refused: ["the cluster"] }),
  of({ type: Cluster, verb: "teardown", id: "a" }),

  of({ type: MachineSet, id: "a-more", labels: WORKER }),
  of({ type: MachineSet, id: "x", refused: [`metadata.labels["${CLUSTER}"]`, "metadata.labels"] }),
  of({
    type: MachineSet,
    id: "x",
    labels: { ...WORKER, ...CONTROL_PLANE },
    refused: ["metadata.labels"],
  }),
  of({
    type: MachineSet,
    id: "x",
    labels: { ...WORKER, [CLUSTER]: "none" },
    refused: [`metadata.labels["${CLUSTER}"]`],
  }),
  of({
    type: MachineSet,
    id: "a-control-planes",
    verb: "update",
    labels: WORKER,
    refused: ["metadata.id"],
  }),
  of({ type: MachineSet, id: "a-second", labels: CONTROL_PLANE, refused: ["metadata.labels"] }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { machineAllocation: { name: "none", machineCount: 1 } },
    refused: ["spec.machineAllocation.name"],
  }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { machineAllocation: { name: "class" }, machineClass: { name: "class" } },
    refused: ["spec.machineClass"],
  }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { machineAllocation: { name: "class", machineCount: 1 } },
  }),
  of({
    type: MachineSet,
    id: "a-more",
    labels: WORKER,
    spec: { bootstrapSpec: { clusterUuid: "u", snapshot: "s" } },
    refused: ["spec.bootstrapSpec"],
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-control-planes",
    labels: CONTROL_PLANE,
    spec: { updateStrategyConfig: { rolling: { maxParallelism: 2 } } },
    refused: ["spec.updateStrategyConfig.rolling.maxParallelism"],
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-workers",
    labels: WORKER,
    spec: { updateStrategyConfig: { rolling: { maxParallelism: 2 } } },
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-workers",
    labels: { ...WORKER, [CLUSTER]: "locked" },
    refused: [`metadata.labels["${CLUSTER}"]`],
  }),
  of({
    type: MachineSet,
    verb: "update",
    id: "a-control-planes",
    labels: CONTROL_PLANE,
    spec: { machineAllocation: { name: "class", machineCount: 1 } },
    refused: ["spec.machineAllocation"],
  }),

  of({ type: MachineSetNode, id: MACHINE.replace("d", "e"), labels: WORKER_NODE }),
  of({ type: MachineSetNode, id: "one", labels: WORKER_NODE, refused: ["metadata.id"] }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: WORKER,
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: { ...CONTROL_PLANE, [SET]: "a-workers" },
    refused: ["metadata.labels"],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: { ...WORKER_NODE, [CLUSTER]: "locked" },
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE.replace("d", "e"),
    labels: { ...WORKER, [SET]: "a-classed" },
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: MachineSetNode,
    id: MACHINE,
    verb: "update",
    labels: CP_NODE,
    annotations: { "omni.sidero.dev/locked": "" },
    refused: ['metadata.annotations["omni.sidero.dev/locked"]'],
  }),
  of({
    type: MachineSetNode,
    verb: "teardown",
    id: MACHINE.replace("d", "b"),
    refused: ["the machine"],
  }),

  of({
    type: ConfigPatch,
    id: "500-a",
    labels: { [CLUSTER]: "a" },
    spec: { data: "machine:\n  network:\n    hostname: a\n" },
  }),
  of({
    type: ConfigPatch,
    id: "500-a",
    labels: { "omni.sidero.dev/machine": MACHINE },
    spec: { compressedData: compressed("machine:\n  sysctls:\n    a: b\n") },
  }),
  of({ type: ConfigPatch, id: "p", refused: ["metadata.labels"] }),
  of({
    type: ConfigPatch,
    id: "p",
    labels: { "omni.sidero.dev/machine": MACHINE, [SET]: "a-workers" },
    refused: [`metadata.labels["${SET}"]`],
  }),
  of({
    type: ConfigPatch,
    id: "p",
    labels: { [CLUSTER]: "a" },
    spec: { data: "machine:\n  token: mine\n" },
    refused: ["spec.data"],
  }),
  of({
    type: ConfigPatch,
    id: "p",
    labels: { [CLUSTER]: "a" },
    spec: { compressedData: compressed("cluster:\n  secret: mine\n") },
    refused: ["spec.data"],
  }),
  of({
    type: ConfigPatch,
    id: "p",
    labels: { [CLUSTER]: "a" },
    spec: { data: "machine: {nonsense: 1}\n" },
    refused: ["spec.data"],
  }),
  of({
    type: ConfigPatch,
    id: "p",
    labels: { [CLUSTER]: "a" },
    // The head of a frame that names the dictionary.
    spec: { compressedData: Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0x21, 1, 0, 1, 0, 0) },
    refused: ["spec.compressedData"],
  }),

  of({ type: MachineClass, id: "c", spec: { matchLabels: ["a=b, c in (d,e)", "!f"] } }),
  of({ type: MachineClass, id: "c", refused: ["spec.matchLabels"] }),
  of({
    type: MachineClass,
    id: "c",
    spec: { matchLabels: ["a", "b c"] },
    refused: ["spec.matchLabels[1]"],
  }),
  of({
    type: MachineClass,
    id: "c",
    spec: { autoProvision: { providerId: "proxmox" } },
    refused: ["spec.autoProvision"],
  }),
  of({ type: MachineClass, verb: "teardown", id: "class", refused: ["the machine class"] }),
  of({ type: MachineClass, verb: "destroy", id: "unused" }),

  of({ type: MachineInstallDiskConfig, id: MACHINE, spec: { disk: "/dev/sda" } }),
  of({
    type: MachineInstallDiskConfig,
    id: MACHINE,
    spec: { diskSelector: "disk.size > 5u * GB && !disk.rotational" },
  }),
  of({ type: MachineInstallDiskConfig, id: MACHINE, refused: ["spec"] }),
  of({
    type: MachineInstallDiskConfig,
    id: MACHINE,
    spec: { disk: "/dev/sda", diskSelector: "true" },
    refused: ["spec"],
  }),
  of({
    type: MachineInstallDiskConfig,
    id: MACHINE,
    spec: { disk: "sda" },
    refused: ["spec.disk"],
  }),
  of({
    type: MachineInstallDiskConfig,
    id: MACHINE,
    spec: { diskSelector: "disk.size >" },
    refused: ["spec.diskSelector"],
  }),

  of({ type: NodeForceDestroyRequest, id: MACHINE }),
  of({
    type: NodeForceDestroyRequest,
    id: MACHINE.replace("d", "e"),
    refused: ["metadata.id"],
  }),

  of({
    type: MachineRequest,
    id: "r",
    labels: { "omni.sidero.dev/infra-provider-id": "proxmox" },
    spec: { talosVersion: "v1.12.1" },
  }),
  of({
    type: MachineRequest,
    id: "r",
    labels: { "omni.sidero.dev/infra-provider-id": "other" },
    spec: { talosVersion: "1.12.1" },
    refused: ['metadata.labels["omni.sidero.dev/infra-provider-id"]'],
  }),
  of({
    type: MachineRequest,
    id: "r",
    labels: { "omni.sidero.dev/infra-provider-id": "proxmox" },
    spec: { kernelArgs: ["a=b", "siderolink.api=x"] },
    refused: ["spec.talosVersion", "spec.kernelArgs[1]"],
  }),

  of({ type: ExtensionsConfiguration, id: "e", refused: ["the type"] }),
  of({ type: KernelArg, id: MACHINE, spec: { args: ["a=b"] }, refused: ["the type"] }),
];

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

for (const [index, one] of CASES.entries()) {
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
