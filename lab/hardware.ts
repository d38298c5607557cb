// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The hardware of emulated machines, the same for the same seed.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { type MachineId, parseMachineId } from "../base/ids.ts";

/** One disk of a machine. */
export interface DiskHardware {
  /** Without `/dev/`, for example `vda`. */
  readonly name: string;
  readonly sizeBytes: number;
  readonly transport: string;
  readonly readonly?: boolean;
}

/** What a machine is made of. */
export interface Hardware {
  readonly uuid: MachineId;
  readonly serialNumber: string;
  /** `aa:bb:cc:dd:ee:ff`. */
  readonly mac: string;
  /** The address of its only network card, IPv4. */
  readonly address: string;
  readonly manufacturer: string;
  readonly productName: string;
  readonly memoryMib: number;
  readonly cores: number;
  readonly disks: readonly DiskHardware[];
}

/** 50 GiB, the disk of the public emulator. */
const DISK_BYTES = 50 * 2 ** 30;

/**
 * The hardware of machine number `index` of a fleet.
 *
 * @param seed Other seeds give other UUIDs, serial numbers and MAC addresses.
 */
export function hardwareOf(seed: string, index: number, changes: Partial<Hardware> = {}): Hardware {
  const digest = createHash("sha256").update(`${seed}/${index}`).digest();
  const hex = digest.toString("hex");
  // Version 4, variant 1, so that nobody takes it for a time-based UUID.
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${
    hex.slice(17, 20)
  }-${hex.slice(20, 32)}`;
  const id = parseMachineId(uuid);
  if (id === undefined) throw new TypeError(`hardwareOf made a malformed UUID: ${uuid}`);
  const macTail = hex.slice(32, 42).match(/../g) ?? [];
  return {
    uuid: id,
    serialNumber: `LAB${hex.slice(42, 52).toUpperCase()}`,
    // 0x52 is locally administered, as virtual machines have it.
    mac: ["52", ...macTail].join(":"),
    address: `10.5.${(index >> 8) & 0xff}.${(index & 0xff) || 1}`,
    manufacturer: "Batuta",
    productName: "Lab machine",
    memoryMib: 8192,
    cores: 4,
    disks: [{ name: "vda", sizeBytes: DISK_BYTES, transport: "virtio" }],
    ...changes,
  };
}

/** The host name of a machine whose configuration leaves it to be derived: stable for one UUID. */
export function stableHostname(uuid: string): string {
  const digits = BigInt(`0x${createHash("sha256").update(uuid).digest("hex").slice(0, 16)}`)
    .toString(36).padStart(6, "0");
  return `talos-${digits.slice(0, 3)}-${digits.slice(3, 6)}`;
}
