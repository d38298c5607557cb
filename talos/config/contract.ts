// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The version contract: what a configuration looks like, fixed by the Talos version with which its
 * cluster was created. Defaults never change for a running cluster, because a change would reboot
 * its machines.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** Major and minor version of Talos, as one number that can be compared: 1.12 is 1012. */
export type Contract = number & { readonly contract: unique symbol };

const VERSION = /^v?(\d{1,4})\.(\d{1,3})(?:$|\.)/;

/** Makes the contract of a major and a minor version. */
export function contractOf(major: number, minor: number): Contract {
  return major * 1000 + minor as Contract;
}

/**
 * Reads a contract from a version such as `v1.12`, `1.12.3` or `1.12.0-beta.1`.
 *
 * @throws CodedError `invalidArgument` for any other text.
 */
export function parseContract(version: string): Contract {
  const match = VERSION.exec(version);
  if (match === null) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read Talos version "${version}": want "v<major>.<minor>", such as "v1.12"`,
    );
  }
  return contractOf(Number(match[1]), Number(match[2]));
}

/** Writes a contract as `v1.12`. */
export function formatContract(contract: Contract): string {
  return `v${Math.floor(contract / 1000)}.${contract % 1000}`;
}

/** Whether a contract is at least 1.`minor`. */
export function since(contract: Contract, minor: number): boolean {
  return contract >= contractOf(1, minor);
}
