// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Generates the configuration of every machine of a cluster.
 *
 * It is made from its sources on every change, never from the one before, so that a patch that was
 * mended leaves nothing behind. A result that the target version of Talos would refuse is not
 * written: the last good one stays, with the reason beside it.
 *
 * @module
 */

import {
  byPrimaryLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import { CodedError, codeOf, formatError } from "../../base/errors.ts";
import type { Resource } from "../../cosi/resource.ts";
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterSecret } from "../../resources/cluster/cluster_secret.ts";
import { LoadBalancerConfig } from "../../resources/cluster/load_balancer_config.ts";
import { ClusterMachineConfig } from "../../resources/config/cluster_machine_config.ts";
import { ClusterMachineConfigPatch } from "../../resources/config/cluster_machine_config_patch.ts";
import { MachineConfigGenOption } from "../../resources/config/machine_config_gen_option.ts";
import { LABEL_CLUSTER, LABEL_CONTROL_PLANE_ROLE } from "../../resources/labels.ts";
import { MachineJoinConfig } from "../../resources/link/machine_join_config.ts";
import { MachineInstallDiskStatus } from "../../resources/machine/machine_install_disk_status.ts";
import { TalosConfig } from "../../resources/talos/talos_config.ts";
import { bundleFromJson } from "../../talos/config/bundle.ts";
import { parseContract, since } from "../../talos/config/contract.ts";
import { generateConfig } from "../../talos/config/generate.ts";
import { KUBE_PRISM_PORT } from "../../talos/config/generate_input.ts";
import { applyPatches } from "../../talos/config/patch.ts";
import { validateConfig } from "../../talos/config/validate.ts";
import { type InstallerTemplate, installImage } from "./install_image.ts";

/** Where install images come from. */
export interface InstallImageSource {
  /** Host of the image factory, without a scheme. */
  readonly factoryHost: string;
  /** The site's own rule; absent for the usual one. */
  readonly template: InstallerTemplate | undefined;
}

/** What a configuration is made from besides the ClusterMachine. */
export interface ConfigFacts {
  readonly secrets: Resource<typeof ClusterSecret> | undefined;
  readonly version: Resource<typeof ClusterConfigVersion> | undefined;
  /** With which the machine is called once it has its configuration. */
  readonly credentials: Resource<typeof TalosConfig> | undefined;
  readonly balancer: Resource<typeof LoadBalancerConfig> | undefined;
  readonly joinConfig: Resource<typeof MachineJoinConfig> | undefined;
  readonly genOptions: Resource<typeof MachineConfigGenOption> | undefined;
  readonly installDisk: Resource<typeof MachineInstallDiskStatus> | undefined;
  readonly patches: Resource<typeof ClusterMachineConfigPatch> | undefined;
  readonly current: Resource<typeof ClusterMachineConfig> | undefined;
}

const MAPPED = [
  byPrimaryLabel(ClusterSecret, LABEL_CLUSTER),
  byPrimaryLabel(ClusterConfigVersion, LABEL_CLUSTER),
  byPrimaryLabel(TalosConfig, LABEL_CLUSTER),
  byPrimaryLabel(LoadBalancerConfig, LABEL_CLUSTER),
  sameId(MachineJoinConfig),
  sameId(MachineConfigGenOption),
  sameId(MachineInstallDiskStatus),
  sameId(ClusterMachineConfigPatch),
  sameId(ClusterMachineConfig),
] as const;

/** Creates the controller. */
export function clusterMachineConfigController(source: InstallImageSource): Controller {
  return defineController({
    name: "config.ClusterMachineConfigController",
    primary: ClusterMachine,
    mapped: MAPPED,
    output: ClusterMachineConfig,
    gather: gatherConfigFacts,
    plan: (machine, facts) => planClusterMachineConfig(machine, facts, source),
  });
}

async function gatherConfigFacts(
  { metadata: { id, labels } }: Resource<typeof ClusterMachine>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<ConfigFacts> {
  const cluster = labels[LABEL_CLUSTER] ?? "";
  return {
    secrets: await reader.find(ClusterSecret, cluster),
    version: await reader.find(ClusterConfigVersion, cluster),
    credentials: await reader.find(TalosConfig, cluster),
    balancer: await reader.find(LoadBalancerConfig, cluster),
    joinConfig: await reader.find(MachineJoinConfig, id),
    genOptions: await reader.find(MachineConfigGenOption, id),
    installDisk: await reader.find(MachineInstallDiskStatus, id),
    patches: await reader.find(ClusterMachineConfigPatch, id),
    current: await reader.find(ClusterMachineConfig, id),
  };
}

/** Generates the configuration, or says what is missing for it. */
export function planClusterMachineConfig(
  machine: Resource<typeof ClusterMachine>,
  facts: ConfigFacts,
  source: InstallImageSource,
): Plan<typeof ClusterMachineConfig> {
  const { secrets, version, balancer, joinConfig, genOptions, installDisk, patches } = facts;
  if (version === undefined) return wait("the cluster's version contract is not known yet");
  if (secrets === undefined) return wait("the cluster has no secrets yet");
  // From its configuration on a machine answers nobody without them.
  if (facts.credentials === undefined) return wait("the cluster has no credentials yet");
  if (balancer === undefined) return wait("the cluster has no balancer port yet");
  if (joinConfig === undefined) return wait("the machine's join configuration is not made yet");
  if (patches === undefined) return wait("the machine's patches are not collected yet");
  const image = genOptions?.spec.installImage;
  if (image === undefined || image.talosVersion === "" || image.platform === "") {
    return wait("the machine's platform and schematic are not known yet");
  }
  if (installDisk === undefined) return wait("the machine's disks are not known yet");
  if (installDisk.spec.disk === "") return wait(installDisk.spec.message);
  const { labels } = machine.metadata;
  const disk = installDisk.spec.disk;
  try {
    const text = generate(machine, { secrets, version, balancer, joinConfig, patches }, {
      image: installImage(
        {
          Host: source.factoryHost,
          Platform: image.platform,
          SecureBoot: image.securityState?.secureBoot ?? false,
          Schematic: image.schematicId,
          Version: image.talosVersion,
        },
        parseContract(version.spec.version),
        source.template,
      ),
      disk,
    });
    return {
      kind: "write",
      labels,
      spec: {
        data: new TextEncoder().encode(text),
        withoutComments: true,
        grubUseUkiCmdline: since(parseContract(version.spec.version), 12),
        installDisk: disk,
      },
    };
  } catch (error) {
    // What a user's patch brought in is an outcome, not a failure of this controller.
    if (codeOf(error) !== "invalidArgument") throw error;
    const { data = new Uint8Array(), installDisk: disk = "" } = facts.current?.spec ?? {};
    const generationError = formatError(error);
    return { kind: "write", labels, spec: { data, installDisk: disk, generationError } };
  }
}

type Sources = {
  readonly [Name in "secrets" | "version" | "balancer" | "joinConfig" | "patches"]: NonNullable<
    ConfigFacts[Name]
  >;
};

function generate(
  machine: Resource<typeof ClusterMachine>,
  { secrets, version, balancer, joinConfig, patches }: Sources,
  install: { readonly image: string; readonly disk: string },
): string {
  const { labels } = machine.metadata;
  const contract = parseContract(version.spec.version);
  const base = generateConfig({
    bundle: bundleFromJson(new TextDecoder().decode(secrets.spec.data)),
    clusterName: labels[LABEL_CLUSTER] ?? "",
    endpoint: balancer.spec.siderolinkEndpoint,
    kubernetesVersion: machine.spec.kubernetesVersion,
    contract,
    machineType: LABEL_CONTROL_PLANE_ROLE in labels ? "controlplane" : "worker",
    options: {
      installDisk: install.disk,
      installImage: install.image,
      skipUnattendedInstallConfig: true,
      ...(since(contract, 5) ? { kubePrismPort: KUBE_PRISM_PORT } : {}),
    },
  });
  const join = since(contract, 5) ? [joinConfig.spec.config?.config ?? ""] : [];
  const text = applyPatches(base, [...join, ...patches.spec.patches]);
  refuseInvalid(text, version.spec.version);
  return text;
}

/** Throws `invalidArgument` with every reason for which the machine would refuse the text. */
function refuseInvalid(text: string, version: string): void {
  // From 1.14 on the disk is not part of the configuration, which is what `metal` asks for.
  const mode = since(parseContract(version), 14) ? "cloud" : "metal";
  const errors = validateConfig(text, { talosVersion: version, mode })
    .filter(({ severity }) => severity === "error");
  if (errors.length === 0) return;
  const reasons = errors.map(({ path, message }) =>
    path === undefined ? message : `${path}: ${message}`
  );
  throw new CodedError("invalidArgument", `Cannot generate configuration: ${reasons.join("; ")}`);
}
