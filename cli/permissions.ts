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
import type { Config } from "../server/config/parse_config.ts";

const ALL = ["env", "ffi", "net", "read", "run", "sys", "write"] as const;

/** A permission of the runtime. */
export type Permission = (typeof ALL)[number];

/** What the server needs whatever its configuration says. */
const SERVE: readonly Permission[] = ["env", "net", "read", "sys", "write"];

/**
 * What each subcommand keeps. Whoever may run programs or load code can do all that the process
 * itself may not, so `run` is kept only by the editor's subcommand, and by those that find out from
 * their configuration whether they need it; `ffi` only by the server, until its tunnel stands.
 */
const KEPT: Readonly<Record<string, readonly Permission[]>> = {
  serve: [...SERVE, "run", "ffi"],
  lab: ["env", "net", "read", "sys", "write"],
  ctl: ["env", "net", "read", "sys"],
  "ctl edit": ["env", "net", "read", "run", "sys", "write"],
  dictionary: ["env", "net", "read", "sys", "write"],
  "key rotate": [...SERVE, "run"],
};

/** For what neither reaches the network nor writes anything: `config`, the rest of `key`, help. */
const KEPT_OTHERWISE: readonly Permission[] = ["env", "read", "sys"];

/** The permissions that a command line needs. */
export function permissionsOf(args: readonly string[]): readonly Permission[] {
  const find = (name: string) => Object.hasOwn(KEPT, name) ? KEPT[name] : undefined;
  return find(args.slice(0, 2).join(" ")) ?? find(args[0] ?? "") ?? KEPT_OTHERWISE;
}

/**
 * What a server keeps once its configuration is read, before anything else of it is loaded: `run`
 * when it starts an etcd, `ffi` when its tunnel may meet the kernel, whose interface and sockets are
 * opened through the C library.
 */
export function permissionsToServe(config: Config): readonly Permission[] {
  const { wireguard } = config;
  const usesLibrary = wireguard.enabled && wireguard.mode !== "user";
  return [...permissionsToRotate(config), ...(usesLibrary ? ["ffi" as const] : [])];
}

/**
 * What a server keeps once it has started. What it has opened through the C library by then stays
 * usable; nothing further can be loaded.
 */
export function permissionsWhileServing(config: Config): readonly Permission[] {
  return permissionsToRotate(config);
}

/** The permissions that a rotation of the key with this configuration needs. */
export function permissionsToRotate({ state }: Config): readonly Permission[] {
  const startsEtcd = state.kind === "etcd" && state.etcd.child.dataDirectory !== undefined;
  return startsEtcd ? [...SERVE, "run"] : SERVE;
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
