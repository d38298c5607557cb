// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of the main document: the machine half, and what both halves must agree on.
 *
 * @module
 */

import { TALOS_ROLES } from "./certificates.ts";
import {
  addError,
  addWarning,
  type Checks,
  isSubnet,
  isTrue,
  pick,
  pickEntries,
  pickList,
  pickNumber,
  pickText,
  pickTexts,
  quote,
  splitUrl,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { formatErrors } from "./error_list.ts";
import { annotationProblems, labelProblems, taintProblems } from "./kubernetes_names.ts";
import { checkCluster, checkCni } from "./validate_cluster.ts";
import { checkInterfaces } from "./validate_interfaces.ts";

/** Fields of the kubelet's configuration that Talos sets itself. */
export const PROTECTED_KUBELET_FIELDS: readonly string[] = [
  "apiVersion",
  "authentication",
  "authorization",
  "cgroupRoot",
  "kind",
  "kubeletCgroups",
  "port",
  "protectKernelDefaults",
  "resolvConf",
  "rotateCertificates",
  "systemCgroups",
  "staticPodPath",
  "seccompDefault",
];

/** The smallest link that KubeSpan works on. */
export const MIN_KUBESPAN_MTU = 1280;

const INSTALL_EXTENSIONS_WARNING = ".machine.install.extensions is deprecated, please see " +
  "https://docs.siderolabs.com/talos/latest/platform-specific-installations/boot-assets";

/** What {@linkcode checkMain} needs to know besides the document. */
export interface MainOptions {
  /** Whether the machine installs itself from this configuration. */
  readonly requiresInstall: boolean;
  /** Minor version of Talos 1 that is to accept the configuration. */
  readonly minor: number;
}

/** Checks the main document; findings come in the order in which Talos reports them. */
export function checkMain(checks: Checks, value: Fields, options: MainOptions): void {
  const machine = pick(value, "machine");
  if (machine === undefined) {
    addError(checks, "machine instructions are required", "machine");
    return;
  }
  const written = pickText(machine, "type");
  // Older words for a worker, and none at all, are still understood.
  const type = written === "join" || written === "" ? "worker" : written;
  const isControlPlane = type === "controlplane" || type === "init";
  checkDeprecated(checks, machine);
  checkCluster(checks, pick(value, "cluster"), isControlPlane);
  if (options.requiresInstall) checkInstall(checks, machine, options);
  if (
    isTrue(machine, "features.hostDNS.forwardKubeDNSToHost") &&
    !isTrue(machine, "features.hostDNS.enabled")
  ) {
    addError(
      checks,
      "feature hostDNS.forwardKubeDNSToHost requires hostDNS.enabled to be true " +
        "(.machine.features.hostDNS)",
      "machine.features.hostDNS",
    );
  }
  if (type !== written) {
    const message = `use ${quote(type)} instead of ${quote(written)} for machine type`;
    addWarning(checks, message, "machine.type");
  }
  checkAuthorities(checks, value, type);
  checkInterfaces(checks, pick(machine, "network"));
  checkKubeSpanMtu(checks, machine);
  checkDisks(checks, machine);
  checkKubelet(checks, machine);
  checkEncryption(checks, machine);
  checkKubeSpanFilters(checks, machine);
  checkLogging(checks, machine);
  checkExtensions(checks, machine);
  checkNodeMetadata(checks, machine);
  checkApiAccess(checks, machine, isControlPlane);
  if (pick(value, "persist") === false) addError(checks, ".persist should be enabled", "persist");
  checkRegistries(checks, machine);
}

function checkDeprecated(checks: Checks, machine: unknown): void {
  if (pickList(machine, "files").length > 0) {
    addWarning(
      checks,
      ".machine.files is deprecated; use dedicated configuration documents instead",
      "machine.files",
    );
  }
  if (pickEntries(machine, "baseRuntimeSpecOverrides").length > 0) {
    addWarning(
      checks,
      ".machine.baseRuntimeSpecOverrides is deprecated; use a CRIBaseRuntimeSpecConfig document instead",
      "machine.baseRuntimeSpecOverrides",
    );
  }
}

function checkInstall(checks: Checks, machine: unknown, { minor }: MainOptions): void {
  const install = pick(machine, "install");
  if (install === undefined) {
    // From 1.14 on another document, or the server, takes care of the installation.
    if (minor <= 13) addError(checks, "install instructions are required", "machine.install");
    return;
  }
  const problem = selectorProblem(install);
  if (problem !== undefined) {
    const message = `install disk selector is invalid: ${problem}`;
    addError(checks, message, "machine.install.diskSelector");
  }
  const isSelecting = problem === undefined && pickEntries(install, "diskSelector").length > 0;
  if (pickText(install, "disk") === "" && !isSelecting) {
    addError(checks, "either install disk or diskSelector should be defined", "machine.install");
  }
  if (pickList(install, "extraKernelArgs").length > 0 && isTrue(install, "grubUseUKICmdline")) {
    addError(
      checks,
      "install.extraKernelArgs and install.grubUseUKICmdline can't be used together",
      "machine.install.extraKernelArgs",
    );
  }
}

/** Kinds of disks that a selector may ask for. */
const DISK_TYPES = ["nvme", "sd", "hdd", "ssd"];

function selectorProblem(install: unknown): string | undefined {
  if (pickText(install, "diskSelector.name") !== "") return "selector on name is not supported";
  const type = pickText(install, "diskSelector.type");
  return type === "" || DISK_TYPES.includes(type)
    ? undefined
    : `unsupported disk type ${quote(type)}`;
}

function checkAuthorities(checks: Checks, value: Fields, type: string): void {
  const ca = pick(value, "machine.ca");
  const accepted = pickList(value, "machine.acceptedCAs");
  if (ca === undefined && accepted.length === 0) {
    const message =
      "issuing CA or some accepted CAs are required (.machine.ca, machine.acceptedCAs)";
    addError(checks, message, "machine.ca");
  }
  if (type === "controlplane" || type === "init") {
    if (pick(value, "cluster.network") !== undefined) {
      checkCni(checks, pick(value, "cluster.network.cni"));
    }
    if (ca === undefined) addError(checks, "issuing CA is required (.machine.ca)", "machine.ca");
    else if (pickText(ca, "key") === "") {
      const message = "issuing CA key is required for controlplane nodes (.machine.ca.key)";
      addError(checks, message, "machine.ca.key");
    }
  } else if (type === "worker") checkWorker(checks, value, ca, accepted.length);
  else addError(checks, `unknown machine type ${quote(type)}`, "machine.type");
}

function checkWorker(checks: Checks, value: Fields, ca: unknown, accepted: number): void {
  const refuseVip = (holder: unknown, path: string) => {
    if (pick(holder, "vip") === undefined) return;
    addError(checks, "virtual (shared) IP is not allowed on non-controlplane nodes", `${path}.vip`);
  };
  for (const [i, device] of pickList(value, "machine.network.interfaces").entries()) {
    const path = `machine.network.interfaces[${i}]`;
    refuseVip(device, path);
    for (const [j, vlan] of pickList(device, "vlans").entries()) {
      refuseVip(vlan, `${path}.vlans[${j}]`);
    }
  }
  if (ca !== undefined) {
    if (pickText(ca, "key") !== "") {
      const message =
        "issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)";
      addError(checks, message, "machine.ca.key");
    }
    if (pickText(ca, "crt") === "" && accepted === 0) {
      addError(
        checks,
        "trusted CA certificates are required on non-controlplane nodes " +
          "(.machine.ca.crt, .machine.acceptedCAs)",
        "machine.ca.crt",
      );
    }
  }
  if (pickText(value, "cluster.ca.key") !== "") {
    const message =
      "issuing Kubernetes API CA key is not allowed on non-controlplane nodes (.cluster.ca)";
    addError(checks, message, "cluster.ca.key");
  }
}

function checkKubeSpanMtu(checks: Checks, machine: unknown): void {
  const kubespan = pick(machine, "network.kubespan");
  const mtu = pickNumber(kubespan, "mtu");
  if (isTrue(kubespan, "enabled") && mtu > 0 && mtu < MIN_KUBESPAN_MTU) {
    const message = `kubespan link MTU must be at least ${MIN_KUBESPAN_MTU}`;
    addError(checks, message, "machine.network.kubespan.mtu");
  }
}

function checkDisks(checks: Checks, machine: unknown): void {
  for (const [i, disk] of pickList(machine, "disks").entries()) {
    if (disk === null) {
      addError(checks, `machine.disks[${i}] is null`, `machine.disks[${i}]`);
      continue;
    }
    const partitions = pickList(disk, "partitions");
    for (const [j, partition] of partitions.entries()) {
      if (pickNumber(partition, "size") !== 0 || j === partitions.length - 1) continue;
      addError(
        checks,
        `partition for disk ${quote(pickText(disk, "device"))} is set to occupy full disk, ` +
          "but it's not the last partition in the list",
        `machine.disks[${i}].partitions[${j}]`,
      );
    }
  }
}

function checkKubelet(checks: Checks, machine: unknown): void {
  for (const subnet of pickTexts(machine, "kubelet.nodeIP.validSubnets")) {
    if (isSubnet(subnet)) continue;
    const message = `kubelet nodeIP subnet is not valid: ${quote(subnet.replace(/^!/, ""))}`;
    addError(checks, message, "machine.kubelet.nodeIP.validSubnets");
  }
  for (const field of PROTECTED_KUBELET_FIELDS) {
    if (pick(machine, `kubelet.extraConfig.${field}`) === undefined) continue;
    const message = `kubelet configuration field ${quote(field)} can't be overridden`;
    addError(checks, message, `machine.kubelet.extraConfig.${field}`);
  }
}

function checkEncryption(checks: Checks, machine: unknown): void {
  for (const [name, label] of [["ephemeral", "EPHEMERAL"], ["state", "STATE"]] as const) {
    const path = `systemDiskEncryption.${name}`;
    const encryption = pick(machine, path);
    if (encryption === undefined) continue;
    const keys = pickList(encryption, "keys");
    const fail = (problem: string) =>
      addError(checks, `partition "${label}": ${problem}`, `machine.${path}.keys`);
    if (keys.length === 0) fail("no encryption keys provided");
    const slots = new Set<number>();
    for (const key of keys) {
      const slot = pickNumber(key, "slot");
      if (slots.has(slot)) fail(`encryption key slot ${slot} is already in use`);
      slots.add(slot);
      const isSet = ["nodeID", "static", "kms", "tpm"].some((kind) =>
        pick(key, kind) !== undefined
      );
      if (!isSet) fail(`encryption key at slot ${slot} doesn't have the configuration parameters`);
    }
  }
}

function checkKubeSpanFilters(checks: Checks, machine: unknown): void {
  const kubespan = pick(machine, "network.kubespan");
  if (!isTrue(kubespan, "enabled")) return;
  for (const subnet of pickTexts(kubespan, "filters.endpoints")) {
    if (isSubnet(subnet)) continue;
    const message = `KubeSpan endpoint filter is not valid: ${quote(subnet.replace(/^!/, ""))}`;
    addError(checks, message, "machine.network.kubespan.filters.endpoints");
  }
  for (const subnet of pickTexts(kubespan, "filters.excludeAdvertisedNetworks")) {
    if (subnet.includes("/") && isSubnet(subnet)) continue;
    const message = `KubeSpan exclude advertised networks filter is not valid: ${quote(subnet)}`;
    addError(checks, message, "machine.network.kubespan.filters.excludeAdvertisedNetworks");
  }
}

function checkLogging(checks: Checks, machine: unknown): void {
  for (const [i, destination] of pickList(machine, "logging.destinations").entries()) {
    const path = `machine.logging.destinations[${i}]`;
    const url = pickText(destination, "endpoint");
    if (pick(destination, "endpoint") === undefined) {
      addError(checks, "empty logging endpoint", path);
    } else {
      const { scheme, host } = splitUrl(url);
      if (host === "") addError(checks, "empty logging endpoint's host", `${path}.endpoint`);
      if (scheme !== "tcp" && scheme !== "udp") {
        addError(checks, `unexpected logging endpoint scheme ${quote(scheme)}`, `${path}.endpoint`);
      }
    }
    const format = pickText(destination, "format");
    if (format !== "json_lines") {
      addError(checks, `unknown logging format ${quote(format)}`, `${path}.format`);
    }
  }
}

function checkExtensions(checks: Checks, machine: unknown): void {
  const images = pickList(machine, "install.extensions").map((item) => pickText(item, "image"));
  const seen = new Set<string>();
  for (const image of images) {
    if (seen.has(image)) {
      addError(checks, `duplicate system extension ${quote(image)}`, "machine.install.extensions");
    }
    seen.add(image);
  }
  if (seen.size > 0) addWarning(checks, INSTALL_EXTENSIONS_WARNING, "machine.install.extensions");
}

function checkNodeMetadata(checks: Checks, machine: unknown): void {
  for (
    const [field, what, findProblems] of [
      ["nodeLabels", "labels", labelProblems],
      ["nodeAnnotations", "annotations", annotationProblems],
      ["nodeTaints", "taints", taintProblems],
    ] as const
  ) {
    const problems = findProblems(pickEntries(machine, field));
    if (problems.length === 0) continue;
    addError(checks, `invalid machine node ${what}: ${formatErrors(problems)}`, `machine.${field}`);
  }
}

function checkApiAccess(checks: Checks, machine: unknown, isControlPlane: boolean): void {
  const path = "machine.features.kubernetesTalosAPIAccess";
  const access = pick(machine, "features.kubernetesTalosAPIAccess");
  if (isTrue(access, "enabled")) {
    if (!isControlPlane) {
      const message =
        "feature Kubernetes Talos API Access can only be enabled on control plane machines";
      addError(checks, message, path);
    }
    for (const role of pickTexts(access, "allowedRoles")) {
      if ((TALOS_ROLES as readonly string[]).includes(role)) continue;
      const message = `invalid role ${
        quote(role)
      } in allowed roles for Kubernetes Talos API Access`;
      addError(checks, message, `${path}.allowedRoles`);
    }
  }
  const algorithm = pickText(machine, "features.nodeAddressSortAlgorithm");
  if (algorithm !== "" && !["v1", "v2"].includes(algorithm.toLowerCase())) {
    addError(
      checks,
      `invalid node address sort algorithm: ${algorithm} does not belong to AddressSortAlgorithm values`,
      "machine.features.nodeAddressSortAlgorithm",
    );
  }
}

function checkRegistries(checks: Checks, machine: unknown): void {
  for (const section of ["config", "mirrors"] as const) {
    for (const [host, entry] of pickEntries(machine, `registries.${section}`)) {
      if (entry !== null) continue;
      const message = `registries.${section}[${quote(host)}] is null`;
      addError(checks, message, `machine.registries.${section}`);
    }
  }
}
