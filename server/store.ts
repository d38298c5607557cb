// SPDX-License-Identifier: AGPL-3.0-or-later

/** Opens the store that the configuration names. @module */

import type { Logger } from "../base/log.ts";
import type { StateKeys } from "../cosi/store/codec.ts";
import { openEtcdStore } from "../cosi/store/etcd.ts";
import { CHILD_LEASE_SECONDS, superviseEtcd } from "../cosi/store/etcd_supervisor.ts";
import { openKvStore } from "../cosi/store/kv.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { openSqliteStore } from "../cosi/store/sqlite.ts";
import { closeAfter, type Store } from "../cosi/store/store.ts";
import type { Config } from "./config/parse_config.ts";
import { readStateKeys } from "./config/state_key.ts";

/** Where {@linkcode openStore} reports to. */
export interface StoreContext {
  readonly log: Logger;
  /** Stops standing by. */
  readonly signal: AbortSignal;
  /** Ends the server when it may not write any more. */
  readonly fail: (error: unknown) => void;
  /** Is told while another server is the active one, by its name, and with `undefined` after that. */
  readonly onStandby?: (active: string | undefined) => void;
}

/**
 * Opens the store; with kind `etcd` it waits until this server is the active one.
 *
 * @throws CodedError naming what is wrong with the key or the store and what to do.
 */
export async function openStore({ state }: Config, context: StoreContext): Promise<Store> {
  const keys = readKeys(state.key);
  switch (state.kind) {
    case "memory":
      return openMemoryStore();
    case "sqlite":
      return await openSqliteStore({ path: state.sqlite.path, keys });
    case "kv":
      return await openKvStore({ path: state.kv.path === "" ? undefined : state.kv.path, keys });
    case "etcd":
      return await openEtcd(state.etcd, keys, context);
  }
}

function readKeys(sources: Config["state"]["key"]): StateKeys | undefined {
  const { current, previous } = readStateKeys(sources);
  return current && { current: current.reveal(), previous: previous.map((key) => key.reveal()) };
}

async function openEtcd(
  { child, ...etcd }: Config["state"]["etcd"],
  keys: StateKeys | undefined,
  context: StoreContext,
): Promise<Store> {
  const { dataDirectory, binary } = child;
  if (dataDirectory === undefined) return await openExternalEtcd(etcd, keys, context);
  const { log, signal, fail } = context;
  const own = await superviseEtcd({ dataDirectory, binary, log, signal, onFailure: fail });
  try {
    const store = await openEtcdStore({
      endpoints: [own.endpoint],
      prefix: etcd.prefix,
      keys,
      identity: identity(),
      isAlone: true,
      leaseTtlSeconds: CHILD_LEASE_SECONDS,
      signal,
      onLost: fail,
    });
    return closeAfter(store, own);
  } catch (error) {
    await own.close();
    throw error;
  }
}

function identity(): string {
  return `${Deno.hostname()}/${Deno.pid}`;
}

async function openExternalEtcd(
  etcd: Omit<Config["state"]["etcd"], "child">,
  keys: StateKeys | undefined,
  { log, signal, fail, onStandby }: StoreContext,
): Promise<Store> {
  const read = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : Deno.readTextFileSync(path);
  let seen: string | undefined;
  return await openEtcdStore({
    endpoints: etcd.endpoints,
    prefix: etcd.prefix,
    tls: {
      ca: read(etcd.certificateAuthority),
      cert: read(etcd.certificate),
      key: read(etcd.key),
    },
    keys,
    identity: identity(),
    signal,
    onStandby(active) {
      if (active === seen) return;
      seen = active;
      log.info("standing by", { reason: `"${active}" is the active server` });
      onStandby?.(active);
    },
    onActive() {
      if (seen !== undefined) log.info("taking over as the active server");
      onStandby?.(undefined);
    },
    onLost: fail,
  });
}
