// SPDX-License-Identifier: AGPL-3.0-or-later

/** `batuta key`: work on keys. @module */

import { Command } from "commander";
import { CodedError } from "../base/errors.ts";
import type { RotationKeys, StoreTarget } from "../cosi/store/rotate_key.ts";
import type { Config } from "../server/config/parse_config.ts";
import { readConfig } from "./config_file.ts";
import { keepPermissions, permissionsToRotate } from "./permissions.ts";

interface RotateOptions {
  readonly config: string;
  readonly fromUnencrypted?: true;
}

/** Everything about keys. */
export function keyCommand(): Command {
  return new Command("key").description("work on keys").addCommand(
    new Command("rotate")
      .description(
        "seal the state with state.key, reading it with state.key.previous; no server may run",
      )
      .requiredOption("--config <file>", "configuration document")
      .option("--from-unencrypted", "also read records that were written without a key")
      .action(rotate),
  );
}

async function rotate({ config: path, fromUnencrypted }: RotateOptions): Promise<void> {
  const config = await readConfig(path);
  keepPermissions(permissionsToRotate(config));
  const { state } = config;
  const { rotateKey } = await import("../cosi/store/rotate_key.ts");
  const keys = await readKeys(state, fromUnencrypted ?? false);
  const count = await rotateKey(targetOf(state), keys);
  console.log(`${count} records are sealed with the key of state.key`);
}

async function readKeys(state: Config["state"], acceptPlain: boolean): Promise<RotationKeys> {
  const { readStateKeys } = await import("../server/config/state_key.ts");
  const { current, previous } = readStateKeys(state.key);
  if (current === undefined) {
    throw new CodedError("invalidArgument", "Cannot rotate the key: state.key names none");
  }
  return { current: current.reveal(), previous: previous.map((key) => key.reveal()), acceptPlain };
}

function targetOf({ kind, sqlite, etcd, kv }: Config["state"]): StoreTarget {
  const read = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : Deno.readTextFileSync(path);
  switch (kind) {
    case "sqlite":
      return { kind, path: sqlite.path };
    case "kv":
      return { kind, path: kv.path === "" ? undefined : kv.path };
    case "etcd":
      if (etcd.child.dataDirectory !== undefined) {
        const { dataDirectory, binary } = etcd.child;
        return { kind: "etcd child", dataDirectory, binary, prefix: etcd.prefix };
      }
      return {
        kind,
        endpoints: etcd.endpoints,
        prefix: etcd.prefix,
        tls: {
          ca: read(etcd.certificateAuthority),
          cert: read(etcd.certificate),
          key: read(etcd.key),
        },
      };
    case "memory":
      throw new CodedError("invalidArgument", 'Cannot rotate the key: state.kind is "memory"');
  }
}
