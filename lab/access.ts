// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Who may call what on a machine: roles, and which methods a machine in maintenance has.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { parseCertificate } from "../talos/config/pki.ts";
import type { CallContext, RawMethod, Service, ServiceMethod } from "../rpc/service.ts";

const EXTENDED_KEY_USAGE = "2.5.29.37";
const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

/** Methods that readers may call, by service. */
const READABLE: Readonly<Record<string, readonly string[]>> = {
  "cosi.resource.State": ["Get", "List", "Watch"],
  "machine.MachineService": [
    "CPUFreqStats",
    "CPUInfo",
    "Containers",
    "DiskStats",
    "Dmesg",
    "EtcdAlarmList",
    "EtcdDowngradeValidate",
    "EtcdMemberList",
    "EtcdStatus",
    "Events",
    "Hostname",
    "ImageList",
    "List",
    "LoadAvg",
    "Logs",
    "LogsContainers",
    "Memory",
    "Mounts",
    "Netstat",
    "NetworkDeviceStats",
    "Processes",
    "ServiceList",
    "Stats",
    "SystemStat",
    "Version",
  ],
  "machine.ImageService": ["List"],
  "storage.StorageService": ["Disks"],
  "time.TimeService": ["Time", "TimeCheck"],
};

/** Methods that operators may call beside those of readers. */
const OPERABLE: Readonly<Record<string, readonly string[]>> = {
  "machine.MachineService": [
    "EtcdAlarmDisarm",
    "EtcdDefragment",
    "EtcdForfeitLeadership",
    "EtcdSnapshot",
    "PacketCapture",
    "Reboot",
    "Restart",
    "ServiceRestart",
    "ServiceStart",
    "ServiceStop",
    "Shutdown",
  ],
};

/** What the separate, small server of Talos up to 1.12 answers in maintenance. */
const SMALL_MAINTENANCE: Readonly<Record<string, readonly string[]>> = {
  "cosi.resource.State": ["Get", "List", "Watch"],
  "machine.MachineService": [
    "ApplyConfiguration",
    "MetaDelete",
    "MetaWrite",
    "Reset",
    "Upgrade",
    "Version",
  ],
  "storage.StorageService": ["BlockDeviceWipe", "Disks"],
};

/** Whether a caller with these roles may call a method. */
export function mayCall(roles: ReadonlySet<string>, service: string, method: string): boolean {
  if (roles.has("os:admin")) return true;
  const listed = (table: Readonly<Record<string, readonly string[]>>): boolean =>
    table[service]?.includes(method) ?? false;
  if (roles.has("os:operator") && (listed(OPERABLE) || listed(READABLE))) return true;
  if (roles.has("os:reader") && listed(READABLE)) return true;
  if (method === "EtcdSnapshot" && roles.has("os:etcd:backup")) return true;
  return roles.has("os:meta:writer") && (method === "MetaWrite" || method === "MetaDelete");
}

/** Whether the small maintenance server has a method. */
export function isMaintenanceMethod(service: string, method: string): boolean {
  return SMALL_MAINTENANCE[service]?.includes(method) ?? false;
}

/**
 * The roles of a client by its certificate, which the TLS layer found to be signed by an accepted
 * authority.
 *
 * @param pem The certificate.
 * @throws CodedError `unauthenticated` unless the certificate is for exactly `clientAuth`.
 */
export function rolesOfCertificate(pem: string): Set<string> {
  const certificate = parseCertificate(pem);
  const extension: object | null = certificate.getExtension(EXTENDED_KEY_USAGE);
  const usages = extension !== null && "usages" in extension && Array.isArray(extension.usages)
    ? extension.usages
    : [];
  if (usages.length !== 1 || usages[0] !== CLIENT_AUTH) {
    throw new CodedError(
      "unauthenticated",
      "Client certificate refused: its extended key usage must be exactly clientAuth",
    );
  }
  return new Set(certificate.subjectName.getField("O"));
}

/** Runs before each call; throws to refuse it. */
export type Guard = (
  call: { readonly service: string; readonly method: string },
  context: CallContext,
) => Promise<void>;

/** The same service with a guard before each of its methods, implemented or not. */
export function guardService(service: Service, guard: Guard): Service {
  return { name: service.name, methods: service.methods.map((method) => guarded(method, guard)) };
}

function guarded(method: ServiceMethod, guard: Guard): ServiceMethod {
  const call = { service: method.service, method: method.name };
  return { ...method, handler: guardedHandler(method.handler, (context) => guard(call, context)) };
}

function guardedHandler(
  handler: RawMethod,
  check: (context: CallContext) => Promise<void>,
): RawMethod {
  if ("unary" in handler) {
    return {
      unary: async (request, context) => {
        await check(context);
        return await handler.unary(request, context);
      },
    };
  }
  if ("serverStream" in handler) {
    return {
      serverStream: async function* (request, context) {
        await check(context);
        yield* handler.serverStream(request, context);
      },
    };
  }
  if ("serverSink" in handler) {
    return {
      serverSink: async (request, context, sink) => {
        await check(context);
        await handler.serverSink(request, context, sink);
      },
    };
  }
  if ("clientStream" in handler) {
    return {
      clientStream: async (requests, context) => {
        await check(context);
        return await handler.clientStream(requests, context);
      },
    };
  }
  return {
    bidi: async function* (requests, context) {
      await check(context);
      yield* handler.bidi(requests, context);
    },
  };
}
