// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Selects disks by an expression in CEL, with the names that Talos's own disk selectors have.
 *
 * @module
 */

import { celEnv, celFunc, CelScalar, celUint, isCelError, parse, plan } from "@bufbuild/cel";
import { formatError } from "../../base/errors.ts";
import type { MachineStatusSpec_HardwareStatus_BlockDevice as BlockDevice } from "../../proto/gen/omni/specs_pb.ts";

/** Whether a disk is meant; an expression that cannot be evaluated says why. */
export type Selection = { readonly isSelected: boolean } | { readonly error: string };

/** Units for sizes, unsigned as sizes are. */
const UNITS = Object.fromEntries([
  ...["k", "M", "G", "T", "P"].map((prefix, at) => [`${prefix}B`, 1000n ** BigInt(at + 1)]),
  ...["K", "M", "G", "T", "P"].map((prefix, at) => [`${prefix}iB`, 1024n ** BigInt(at + 1)]),
].map(([name, value]) => [name, celUint(BigInt(value ?? 0n))]));

const ENVIRONMENT = celEnv({
  funcs: [celFunc("glob", [CelScalar.STRING, CelScalar.STRING], CelScalar.BOOL, matchesGlob)],
});

/** Shell patterns: `*` any text, `?` any one character. */
function matchesGlob(pattern: string, text: string): boolean {
  const source = pattern.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll(/\*+/g, ".*")
    .replaceAll("?", ".");
  return new RegExp(`^${source}$`, "s").test(text);
}

/** Compiles an expression; what it returns never throws, whatever the expression. */
export function compileDiskSelector(expression: string): (device: BlockDevice) => Selection {
  let evaluate: ReturnType<typeof plan>;
  try {
    evaluate = plan(ENVIRONMENT, parse(expression));
  } catch (error) {
    const reason = `it is not valid: ${formatError(error)}`;
    return () => ({ error: reason });
  }
  return (device) => {
    const result = evaluate({ ...UNITS, disk: fieldsOf(device), system_disk: device.systemDisk });
    if (isCelError(result)) return { error: `it cannot be evaluated: ${formatError(result)}` };
    return typeof result === "boolean"
      ? { isSelected: result }
      : { error: "it must be true or false" };
  };
}

/** A disk by the names of Talos's own resource. */
function fieldsOf(device: BlockDevice): Map<string, string | boolean | ReturnType<typeof celUint>> {
  return new Map<string, string | boolean | ReturnType<typeof celUint>>([
    ["dev_path", device.devPath],
    ["size", celUint(device.size)],
    ["io_size", celUint(device.ioSize)],
    ["sector_size", celUint(device.sectorSize)],
    ["readonly", device.readonly],
    ["model", device.model],
    ["serial", device.serial],
    ["modalias", device.modalias],
    ["wwid", device.wwid],
    ["uuid", device.uuid],
    ["bus_path", device.busPath],
    ["sub_system", device.subSystem],
    ["transport", device.transport],
    ["rotational", device.rotational],
    ["cdrom", device.cdrom],
    ["pretty_size", device.prettySize],
  ]);
}
