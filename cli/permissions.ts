// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Gives up permissions that a subcommand does not need.
 *
 * The executable has one set of permissions for all subcommands. A subcommand that needs less drops
 * the rest before it does anything else: nothing in the process, nor in its workers, gets them back.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";

/**
 * Revokes permissions for the rest of the process.
 *
 * Files and databases that are open stay usable, so this comes before anything is opened. Programs
 * and native code can do what the process itself may not: who drops `write` drops `run` and `ffi` too.
 *
 * @throws CodedError `permissionDenied` when the runtime keeps one of them granted.
 */
export function dropPermissions(names: readonly Deno.PermissionDescriptor["name"][]): void {
  for (const name of names) {
    const { state } = Deno.permissions.revokeSync({ name });
    if (state !== "granted") continue;
    throw new CodedError("permissionDenied", `Cannot give up permission "${name}"`);
  }
}
