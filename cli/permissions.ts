// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Gives up the permissions that a subcommand does not need.
 *
 * The executable has one set of permissions, for all subcommands together. Before a subcommand is
 * even loaded, it is left with its own: nothing in the process, nor in its workers, gets the rest
 * back. Files and libraries that are open stay usable, so this comes before anything is opened.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";

const ALL = ["env", "ffi", "net", "read", "run", "sys", "write"] as const;

/** A permission of the runtime. */
export type Permission = (typeof ALL)[number];

/**
 * What each subcommand keeps. Whoever may run programs or load code can do all that the process
 * itself may not, so only the editor's subcommand keeps `run`, and none keeps `ffi`.
 */
const KEPT: Readonly<Record<string, readonly Permission[]>> = {
  serve: ["env", "net", "read", "sys", "write"],
  lab: ["env", "net", "read", "sys", "write"],
  ctl: ["env", "net", "read", "sys"],
  "ctl edit": ["env", "net", "read", "run", "sys", "write"],
  dictionary: ["env", "net", "read", "sys", "write"],
  "key rotate": ["env", "net", "read", "sys", "write"],
};

/** For what neither reaches the network nor writes anything: `config`, the rest of `key`, help. */
const KEPT_OTHERWISE: readonly Permission[] = ["env", "read", "sys"];

/** The permissions that a command line needs. */
export function permissionsOf(args: readonly string[]): readonly Permission[] {
  const find = (name: string) => Object.hasOwn(KEPT, name) ? KEPT[name] : undefined;
  return find(args.slice(0, 2).join(" ")) ?? find(args[0] ?? "") ?? KEPT_OTHERWISE;
}

/**
 * Revokes all other permissions for the rest of the process.
 *
 * @throws CodedError `permissionDenied` when the runtime keeps one of them granted.
 */
export function keepPermissions(kept: readonly Permission[]): void {
  for (const name of ALL) {
    if (kept.includes(name)) continue;
    if (Deno.permissions.revokeSync({ name }).state !== "granted") continue;
    throw new CodedError("permissionDenied", `Cannot give up permission "${name}"`);
  }
}
