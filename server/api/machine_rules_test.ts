// SPDX-License-Identifier: AGPL-3.0-or-later

// Every rule of patches, machine classes, disks and requests: what breaks it, and the field that the
// refusal names.

import { zstdCompressSync } from "node:zlib";
import { NodeForceDestroyRequest } from "../../resources/cluster/node_force_destroy_request.ts";
import { ConfigPatch } from "../../resources/config/config_patch.ts";
import { MachineClass } from "../../resources/machine/machine_class.ts";
import { MachineInstallDiskConfig } from "../../resources/machine/machine_install_disk_config.ts";
import { MachineRequest } from "../../resources/provider/machine_request.ts";
import { ExtensionsConfiguration } from "../../resources/talos/extensions_configuration.ts";
import { KernelArg } from "../../resources/talos/kernel_arg.ts";
import { type Case, CLUSTER, MACHINE, of, SET, testRules } from "./testing_rules.ts";

function compressed(text: string): Uint8Array {
  return new Uint8Array(zstdCompressSync(new TextEncoder().encode(text)));
}

const CASES: readonly Case[] = [
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

testRules(CASES);
