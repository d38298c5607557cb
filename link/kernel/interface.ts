// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The kernel's WireGuard interface, from its making to its end.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { CodedError } from "../../base/errors.ts";
import type { PortRange } from "../../base/port_range.ts";
import { type Libc, openLibc } from "../libc.ts";
import { MTU } from "../wireguard/messages.ts";
import { getFamily, readFamily } from "./genetlink.ts";
import { onlyTo } from "./ingress_filter.ts";
import { lockInterface, lockName } from "./interface_lock.ts";
import type { NetlinkRequest } from "./netlink.ts";
import {
  NETLINK_GENERIC,
  NETLINK_ROUTE,
  type NetlinkAnswer,
  type NetlinkSocket,
  openNetlink,
} from "./netlink_socket.ts";
import { ENODEV, refusal, type Step } from "./refusal.ts";
import {
  addAddress,
  addFilterPlace,
  addIngressFilter,
  bringUp,
  createLink,
  deleteLink,
  findLink,
  type LinkDescription,
  readLink,
  setAlias,
} from "./rtnetlink.ts";
import {
  type DeviceReport,
  getDevice,
  type PeerChange,
  readDevice,
  removePeer,
  removePeers,
  setDevice,
  setPeer,
  WIREGUARD,
} from "./wireguard_messages.ts";

/** By this text an interface shows whose it is. */
const ALIAS = "batuta";

/** What an interface is made of. */
export interface KernelInterfaceOptions {
  /** At most 15 characters. */
  readonly name: string;
  /** 16 bytes. */
  readonly address: Uint8Array;
  /** The length of the prefix that is routed into the tunnel. */
  readonly prefixLength: number;
  /** 32 bytes. */
  readonly privateKey: Uint8Array;
  /** Base64; the key by which an interface of ours is known. */
  readonly publicKey: string;
  /** UDP port; 0 picks a free one. */
  readonly port: number;
  /** Where machines may open connections; everywhere when absent. */
  readonly openPorts?: readonly PortRange[];
}

/** What the kernel has. */
export interface InterfaceReport {
  readonly reports: readonly DeviceReport[];
  /** Whether peers may be missing, because somebody changed them meanwhile. */
  readonly isInterrupted: boolean;
}

/** An interface that is up. */
export interface KernelInterface {
  readonly port: number;
  /**
   * Adds or changes a peer.
   *
   * @throws CodedError `invalidArgument` for an endpoint without an address, `unavailable` when the
   *   interface is gone.
   */
  setPeer(change: PeerChange): void;
  removePeer(publicKey: Uint8Array): void;
  read(): InterfaceReport;
  /** Rejects when the interface is gone; stays pending otherwise. */
  readonly failed: Promise<never>;
  /** Removes the interface. */
  close(): void;
}

/** The sockets and the lock of one interface. */
interface Kernel {
  readonly route: NetlinkSocket;
  readonly generic: NetlinkSocket;
  /** The number of WireGuard's messages. */
  family(): number;
  close(): void;
}

/**
 * Makes an interface and brings it up. One that a process left behind which was killed is removed.
 *
 * @throws CodedError `unsupported` when the kernel lacks a part, `permissionDenied` without
 *   CAP_NET_ADMIN, `alreadyExists` when the name is somebody else's, `unavailable` when the port is
 *   taken.
 */
export function openKernelInterface(options: KernelInterfaceOptions): KernelInterface {
  const { name } = options;
  const kernel = openKernel(name);
  if (kernel === undefined) {
    throw new CodedError(
      "alreadyExists",
      `Cannot make interface "${name}": another process of this host has it (socket "@${
        lockName(name)
      }")`,
    );
  }
  let index: number | undefined;
  try {
    removeOurs(kernel, options);
    must(kernel.route, `make interface "${name}"`, createLink(name, WIREGUARD), "create");
    index = find(kernel, name)?.index;
    if (index === undefined) throw refusal(`find interface "${name}"`, { errno: ENODEV, text: "" });
    configure(kernel, index, options);
    return opened(kernel, index, name);
  } catch (error) {
    release(kernel, index);
    throw error;
  }
}

/** Removes an interface, which may be gone already, and closes everything. */
function release(kernel: Kernel, index: number | undefined): void {
  try {
    if (index !== undefined) remove(kernel, index);
  } finally {
    kernel.close();
  }
}

/**
 * Removes an interface that a process left behind which was killed, if this one may: its port and
 * its address would be in the way of another kind of tunnel.
 *
 * @param publicKey Base64; the key by which an interface of ours is known.
 */
export function removeAbandoned(name: string, publicKey: string): void {
  let kernel: Kernel | undefined;
  try {
    kernel = openKernel(name);
    if (kernel !== undefined) removeOurs(kernel, { name, publicKey });
  } catch {
    // Whatever is in the way then shows by what it is in the way of.
  } finally {
    kernel?.close();
  }
}

/** Opens everything; `undefined` when another process has the interface. */
function openKernel(name: string): Kernel | undefined {
  const libc: Libc = openLibc();
  const undo: (() => void)[] = [() => libc.close()];
  const close = (): void => {
    for (const step of undo.splice(0).reverse()) step();
  };
  try {
    const lock = lockInterface(libc, name);
    if (lock === undefined) {
      close();
      return undefined;
    }
    undo.push(() => libc.symbols.close(lock));
    const route = openNetlink(libc, NETLINK_ROUTE);
    undo.push(() => route.close());
    const generic = openNetlink(libc, NETLINK_GENERIC);
    undo.push(() => generic.close());
    let family: number | undefined;
    return {
      route,
      generic,
      family: () => family ??= findFamily(generic),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function findFamily(generic: NetlinkSocket): number {
  const { messages } = must(generic, "find WireGuard", getFamily(WIREGUARD), "family");
  const [message] = messages;
  if (message === undefined) throw refusal("find WireGuard", { errno: ENODEV, text: "" });
  return readFamily(message.payload);
}

function find({ route }: Kernel, name: string): LinkDescription | undefined {
  const answer = route.call(findLink(name));
  if (answer.errno === ENODEV) return undefined;
  if (answer.errno !== 0) throw refusal(`find interface "${name}"`, answer);
  const [message] = answer.messages;
  return message === undefined ? undefined : readLink(message.payload);
}

/** Removes a WireGuard interface. */
function remove({ route, generic, family }: Kernel, index: number): NetlinkAnswer {
  // The kernel waits for all processors before a peer goes; with its interface once for each of
  // them and without haste (18 ms a peer on two emulated processors), alone for all together.
  generic.call(removePeers(family(), index));
  return route.call(deleteLink(index));
}

/** Removes what stands under our name, if it is ours; the lock says that nobody uses it. */
function removeOurs(
  kernel: Kernel,
  { name, publicKey }: Pick<KernelInterfaceOptions, "name" | "publicKey">,
): void {
  const link = find(kernel, name);
  if (link === undefined) return;
  if (!isOurs(kernel, link, publicKey)) {
    throw new CodedError(
      "alreadyExists",
      `Cannot make interface "${name}": there is one of kind "${link.kind}" that is not ours; ` +
        "remove or rename it",
    );
  }
  const answer = remove(kernel, link.index);
  if (answer.errno !== 0) throw refusal(`remove interface "${name}"`, answer);
}

/** A WireGuard interface with our mark or our key, or with none: its maker was killed before. */
function isOurs(kernel: Kernel, { index, kind, alias }: LinkDescription, ours: string): boolean {
  if (kind !== WIREGUARD) return false;
  if (alias === ALIAS) return true;
  const { reports } = readInterface(kernel, index);
  const key = reports.find(({ publicKey }) => publicKey !== undefined)?.publicKey;
  return key === undefined || Buffer.from(key).toString("base64") === ours;
}

function configure(kernel: Kernel, index: number, options: KernelInterfaceOptions): void {
  const { name, address, prefixLength, privateKey, port, openPorts } = options;
  const { route, generic } = kernel;
  const make = (what: string, request: NetlinkRequest, step?: Step): void =>
    void must(route, `${what} of interface "${name}"`, request, step);
  make("set the alias", setAlias(index, ALIAS));
  const key = setDevice(kernel.family(), index, { privateKey, port });
  must(generic, `set the key of interface "${name}"`, key);
  // Before anything can come in.
  make("make the filter", addFilterPlace(index), "filter");
  make("make the filter", addIngressFilter(index, onlyTo(address, openPorts)), "filter");
  make("set the address", addAddress(index, address, prefixLength), "address");
  make(`open UDP port ${port}`, bringUp(index, MTU), "up");
}

function opened(kernel: Kernel, index: number, name: string): KernelInterface {
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  const family = kernel.family();
  const guarded = <T>(run: () => T): T => {
    try {
      return run();
    } catch (error) {
      // Somebody removed it; all peers went with it.
      if (error instanceof CodedError && error.details["errno"] === ENODEV) failure.reject(error);
      throw error;
    }
  };
  const { reports } = readInterface(kernel, index);
  const port = reports.find(({ listenPort }) => listenPort !== undefined)?.listenPort ?? 0;
  return {
    port,
    failed: failure.promise,
    setPeer: (change) =>
      guarded(() =>
        void must(
          kernel.generic,
          `change a peer of interface "${name}"`,
          setPeer(family, index, change),
        )
      ),
    removePeer: (publicKey) =>
      guarded(() =>
        void must(
          kernel.generic,
          `remove a peer of interface "${name}"`,
          removePeer(family, index, publicKey),
        )
      ),
    read: () => guarded(() => readInterface(kernel, index)),
    close: () => release(kernel, index),
  };
}

function readInterface(kernel: Kernel, index: number): InterfaceReport {
  const request = getDevice(kernel.family(), index);
  const { messages, isInterrupted } = must(kernel.generic, "read the peers", request);
  return { reports: messages.map(({ payload }) => readDevice(payload)), isInterrupted };
}

function must(
  socket: NetlinkSocket,
  what: string,
  request: NetlinkRequest,
  step?: Step,
): NetlinkAnswer {
  const answer = socket.call(request);
  if (answer.errno !== 0) throw refusal(what, answer, step);
  return answer;
}
