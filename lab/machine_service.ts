// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The machine API proper: configuration, power, META, services, files.
 *
 * @module
 */

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { CodedError } from "../base/errors.ts";
import { MachineService, type ResetRequest } from "../proto/gen/talos/machine_pb.ts";
import { Disk_DiskType, StorageService } from "../proto/gen/talos/storage_pb.ts";
import { type Handlers, implementService, type Service } from "../rpc/service.ts";
import { applyTo } from "./activate.ts";
import { applyConfiguration } from "./apply.ts";
import type { Boot } from "./boot.ts";
import { readInstallerImage } from "./disk.ts";
import { bootstrapEtcd } from "./etcd_member.ts";
import { etcdHandlers } from "./etcd_calls.ts";
import { formatKernelLine } from "./kernel_log.ts";
import {
  checkReady,
  requestReboot,
  requestReset,
  requestShutdown,
  requestUpgradeReboot,
} from "./power.ts";
import { setMeta } from "./status.ts";

type MachineHandlers = Partial<Handlers<typeof MachineService>>;

/** Serves `machine.MachineService`. */
export function machineService(boot: Boot): Service {
  return implementService(MachineService, {
    ...powerHandlers(boot),
    ...systemHandlers(boot),
    ...metaHandlers(boot),
    ...etcdHandlers(boot),
    ...imageHandlers(boot),
  });
}

/** Serves `storage.StorageService`. */
export function storageService(boot: Boot): Service {
  return implementService(StorageService, {
    disks: () => ({
      messages: [{
        disks: boot.core.hardware.disks.map((disk) => ({
          size: BigInt(disk.sizeBytes),
          deviceName: `/dev/${disk.name}`,
          type: Disk_DiskType.SSD,
          systemDisk: boot.core.disk.installation?.disk === `/dev/${disk.name}`,
          readonly: disk.readonly ?? false,
          busPath: "/pci0000:00/0000:00:05.0/virtio2/",
          subsystem: "/sys/class/block",
        })),
      }],
    }),
  });
}

function powerHandlers(boot: Boot): MachineHandlers {
  const actorId = crypto.randomUUID();
  return {
    applyConfiguration: async (request) => ({
      messages: [
        await applyConfiguration(boot, request, {
          activate: (config) => applyTo(boot, config),
          reboot: () => laterReboot(boot),
        }),
      ],
    }),
    bootstrap: ({ recoverEtcd }) => {
      if (recoverEtcd) throw new CodedError("failedPrecondition", "no etcd snapshot was uploaded");
      bootstrapEtcd(boot);
      return { messages: [{}] };
    },
    reboot: () => {
      requestReboot(boot);
      return { messages: [{ actorId }] };
    },
    shutdown: () => {
      requestShutdown(boot);
      return { messages: [{ actorId }] };
    },
    reset: (request: ResetRequest) => {
      requestReset(boot, request);
      return { messages: [{ actorId }] };
    },
    upgrade: ({ image, preserve, stage, force }) => {
      if (boot.stage === "maintenance" && (preserve || stage || force)) {
        throw new CodedError("unimplemented", "upgrade options are not supported in maintenance");
      }
      replaceSystem(boot, image);
      requestUpgradeReboot(boot);
      return { messages: [{ ack: "Upgrade request received", actorId }] };
    },
  };
}

/** Reboots once the reply of the call that asked for it is on its way and nothing else is running. */
function laterReboot(boot: Boot): void {
  void boot.core.clock.sleep(0, boot.signal).then(() => {
    if (!boot.signal.aborted && boot.busyWith === undefined) requestReboot(boot);
  });
}

/** Writes another system to the disk, as an upgrade does. */
export function replaceSystem(boot: Boot, image: string): void {
  checkReady(boot);
  const { disk } = boot.core;
  const installer = readInstallerImage(image);
  if (installer === undefined) {
    throw new CodedError("invalidArgument", `error validating installer image "${image}"`);
  }
  if (disk.installation === undefined) {
    throw new CodedError("failedPrecondition", "Talos is not installed");
  }
  disk.installation = { ...disk.installation, image, ...installer };
}

function systemHandlers(boot: Boot): MachineHandlers {
  return {
    version: () => ({
      messages: [{
        version: {
          tag: boot.version,
          sha: "00000000",
          built: "2026-01-01T00:00:00Z",
          goVersion: "go1.25.0",
          os: "linux",
          arch: "amd64",
        },
        platform: { name: "metal", mode: "metal" },
        features: { rbac: true },
      }],
    }),
    hostname: () => ({ messages: [{ hostname: boot.hostname }] }),
    serviceList: () => ({
      messages: [{
        services: [...boot.services].sort(([a], [b]) => a < b ? -1 : 1).map(([id, service]) => ({
          id,
          state: service.state,
          health: {
            healthy: service.isHealthy,
            unknown: false,
            lastMessage: service.message,
            lastChange: timestampFromMs(service.changedMs),
          },
        })),
      }],
    }),
    dmesg: async function* ({ follow, tail }, { signal }) {
      const encoder = new TextEncoder();
      const ended = AbortSignal.any([signal, boot.signal]);
      let next = tail ? (boot.kernelLog.lines().at(-1)?.seq ?? -1) + 1 : 0;
      for (;;) {
        for (const line of boot.kernelLog.lines().filter(({ seq }) => seq >= next)) {
          next = line.seq + 1;
          yield { bytes: encoder.encode(formatKernelLine(line)) };
        }
        if (!follow) return;
        await boot.kernelLog.changed.until(
          () => (boot.kernelLog.lines().at(-1)?.seq ?? -1) >= next,
          ended,
        );
      }
    },
    read: async function* ({ path }) {
      if (path !== "/proc/sys/kernel/random/boot_id") {
        throw new CodedError("notFound", `open ${path}: no such file or directory`);
      }
      yield await Promise.resolve({ bytes: new TextEncoder().encode(`${boot.id}\n`) });
    },
  };
}

function metaHandlers(boot: Boot): MachineHandlers {
  const checkKey = (key: number): void => {
    if (key > 255) throw new CodedError("invalidArgument", "key must be a uint8");
  };
  return {
    metaWrite: ({ key, value }) => {
      checkKey(key);
      setMeta(boot, key, new TextDecoder().decode(value));
      return { messages: [{}] };
    },
    metaDelete: ({ key }) => {
      checkKey(key);
      if (!setMeta(boot, key, undefined)) throw new CodedError("notFound", "key not found");
      return { messages: [{}] };
    },
  };
}

function imageHandlers(boot: Boot): MachineHandlers {
  return {
    imageList: async function* () {
      for (const name of boot.images) yield await Promise.resolve({ name, size: 1_000_000n });
    },
    imagePull: ({ reference }) => {
      if (!/^[^\s]+:[^\s:/]+$/.test(reference)) {
        throw new CodedError("invalidArgument", `invalid image reference "${reference}"`);
      }
      boot.images.add(reference);
      return { messages: [{}] };
    },
  };
}
