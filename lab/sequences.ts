// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a machine does from power-on: initialize, wait for a configuration, install, boot.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { apidCertificate } from "./apid_certificate.ts";
import { applyTo } from "./activate.ts";
import {
  type Boot,
  clusterIdOf,
  endBoot,
  inPhase,
  inSequence,
  isConfigured,
  isControlPlane,
} from "./boot.ts";
import { readInstallerImage } from "./disk.ts";
import { runEtcd } from "./etcd_member.ts";
import { stableHostname } from "./hardware.ts";
import { kernelCmdline, publishInventory } from "./inventory.ts";
import { runApiServer, runKubelet } from "./kubernetes_node.ts";
import { type MachineConfig, readMachineConfig } from "./machine_config.ts";
import { memberSpec, publishHostname, publishMembers, publishNetwork } from "./network.ts";
import { requiredServices, setService, setStage } from "./status.ts";
import { isRecentTalos } from "./versions.ts";
import { publishSystemDisk } from "./volumes.ts";

/** Runs a background part of a machine; a failure is told and does not end the machine. */
export type Spawn = (name: string, run: () => Promise<void>) => void;

/** Takes a machine from power-on to running; returns when the boot is over or fully up. */
export async function runSequences(boot: Boot, spawn: Spawn): Promise<void> {
  await inSequence(boot, "initialize", () => initialize(boot));
  if (!isConfigured(boot)) await waitForConfig(boot);
  const { core } = boot;
  if (core.disk.installation === undefined && !isRecentTalos(boot.version)) {
    try {
      await inSequence(boot, "install", () => install(boot));
    } finally {
      // Up or down, what follows is a boot from whatever is on the disk now.
      if (!boot.signal.aborted) await restart(boot);
    }
    return;
  }
  await inSequence(boot, "boot", () => startServices(boot, spawn));
}

async function initialize(boot: Boot): Promise<void> {
  const { core } = boot;
  boot.kernelLog.write("info", "Linux version 6.12.0-talos", "kern");
  // Real kernels print their command line, join token included.
  boot.kernelLog.write("info", `Command line: ${kernelCmdline(boot)}`, "kern");
  publishInventory(boot);
  publishNetwork(boot);
  publishHostname(boot, stableHostname(core.hardware.uuid));
  setStage(boot, "booting");
  setService(boot, "machined", "Running", "Service started");
  setService(boot, "udevd", "Running", "Service started");
  await inPhase(boot, "systemRequirements", core.pace.bootMs);
  const text = core.disk.stagedConfig ?? core.disk.config;
  if (core.disk.stagedConfig !== undefined) {
    core.disk.config = core.disk.stagedConfig;
    delete core.disk.stagedConfig;
  }
  if (text !== undefined) applyTo(boot, readMachineConfig(text));
  boot.kernelLog.write(
    "info",
    `[talos] this machine is reachable once ${boot.hostname} has joined`,
  );
}

async function waitForConfig(boot: Boot): Promise<void> {
  boot.apid = { kind: "maintenance" };
  setStage(boot, "maintenance");
  await boot.core.changed.until(() => isConfigured(boot), boot.signal);
  boot.apid = undefined;
}

async function install(boot: Boot): Promise<void> {
  const { core, config } = boot;
  if (config === undefined) throw new TypeError("an installation began without a configuration");
  setStage(boot, "installing");
  const disk = installDiskOf(boot, config);
  const image = config.facts.installImage ?? `ghcr.io/siderolabs/installer:${boot.version}`;
  const installer = readInstallerImage(image);
  if (installer === undefined) {
    throw new CodedError("invalidArgument", `install image "${image}" has no version tag`);
  }
  await inPhase(boot, "install", core.pace.installMs);
  core.disk.installation = { disk, image, ...installer };
  // What was written to META in memory is flushed with the installation.
  for (const [key, value] of boot.meta) core.disk.meta.set(key, value);
  core.disk.config = config.text;
  publishSystemDisk(boot);
  await inPhase(boot, "saveConfig", core.pace.applyMs);
}

function installDiskOf({ core }: Boot, { facts }: MachineConfig): string {
  const paths = core.hardware.disks.filter((disk) => disk.readonly !== true)
    .map(({ name }) => `/dev/${name}`);
  // Without a path the configuration selects a disk by its properties; here any will do.
  const wanted = facts.installDisk ?? paths[0];
  if (wanted === undefined || !paths.includes(wanted)) {
    throw new CodedError("notFound", `install disk "${wanted ?? ""}" does not exist`);
  }
  return wanted;
}

async function restart(boot: Boot): Promise<void> {
  setStage(boot, "rebooting");
  await boot.core.clock.sleep(boot.core.pace.stopMs, boot.signal);
  endBoot(boot, "reboot");
}

/** Starts everything and waits until all of it is up. */
async function startServices(boot: Boot, spawn: Spawn): Promise<void> {
  const { core, signal } = boot;
  const cluster = core.world.cluster(clusterIdOf(boot) ?? "");
  setStage(boot, "booting");
  for (const id of ["containerd", "cri"]) {
    await core.clock.sleep(core.pace.serviceMs, signal);
    signal.throwIfAborted();
    setService(boot, id, "Running", "Health check successful");
  }
  spawn("discovery", () => announce(boot));
  setService(boot, "apid", "Waiting", "waiting for api certificates");
  spawn("apid certificate", () => apidCertificate(boot));
  if (isControlPlane(boot)) {
    setService(boot, "trustd", "Running", "Health check successful");
    spawn("etcd", () => runEtcd(boot, cluster));
    spawn("kube-apiserver", () => runApiServer(boot, cluster));
  }
  spawn("kubelet", () => runKubelet(boot, cluster));
  const isUp = (): boolean =>
    requiredServices(boot).every((id) =>
      boot.services.get(id)?.state === "Running" ||
      id === "etcd" && core.quirks.runsWithoutEtcd
    );
  await core.changed.until(isUp, signal);
  setStage(boot, "running");
}

/** Tells the other machines of the cluster about this one, and this one about them. */
async function announce(boot: Boot): Promise<void> {
  const { core, signal } = boot;
  const cluster = core.world.cluster(clusterIdOf(boot) ?? "");
  const { hostname } = boot;
  cluster.members.set(hostname, memberSpec(boot));
  const unsubscribe = cluster.membersChanged.subscribe(() => publishMembers(boot, cluster));
  cluster.membersChanged.fire();
  try {
    await cluster.membersChanged.until(() => false, signal);
  } finally {
    unsubscribe();
    cluster.members.delete(hostname);
    cluster.membersChanged.fire();
  }
}
