// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Seals every record of a stopped state with another key.
 *
 * An interruption does no harm: until the end some records have the one key and some the other, both
 * keys are needed to read them, and the rotation can be made again.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { StateKeys } from "./codec.ts";
import { openEtcdStore } from "./etcd.ts";
import { startEtcd } from "./etcd_child.ts";
import type { EtcdTls } from "./etcd_client.ts";
import { openKvStore } from "./kv.ts";
import { openSqliteStore } from "./sqlite.ts";
import { closeAfter, type Store, type StoreImage } from "./store.ts";

/** Which state. */
export type StoreTarget =
  | { readonly kind: "sqlite"; readonly path: string }
  | { readonly kind: "kv"; readonly path: string | undefined }
  | {
    readonly kind: "etcd";
    readonly endpoints: readonly string[];
    readonly prefix: string;
    readonly tls: EtcdTls;
  }
  | {
    readonly kind: "etcd child";
    readonly dataDirectory: string;
    readonly binary: string | undefined;
    readonly prefix: string;
  };

/** The keys of a rotation: from `previous`, or none, to `current`. */
export type RotationKeys = StateKeys;

/** Records of one commit, unless the store takes fewer. */
const BATCH = { changes: 512, bytes: 4 << 20 };

/**
 * Seals every record with `keys.current`; returns how many there are.
 *
 * Throws what opening the store throws, and `failedPrecondition` while a server uses the state.
 */
export async function rotateKey(target: StoreTarget, keys: RotationKeys): Promise<number> {
  const store = await openStopped(target, keys);
  try {
    const image = await store.load();
    const resources: RawResource[] = [];
    for await (const piece of image.resources) resources.push(...piece);
    for (const batch of batches(resources, store.batchLimits ?? BATCH)) {
      await store.commit({ revision: image.revision, changes: changes(image, batch) });
    }
    await store.commit({ revision: image.revision, changes: [], keyRotated: true });
    await store.compact?.();
    return resources.length;
  } finally {
    await store.close();
  }
}

async function openStopped(target: StoreTarget, keys: StateKeys): Promise<Store> {
  switch (target.kind) {
    case "kv":
      return await openKvStore({ ...target, keys });
    case "etcd":
      return await openStoppedEtcd(target, keys);
    case "etcd child":
      return await openEtcdChild(target, keys);
    case "sqlite":
      await mustExist("state file", target.path);
      return await openSqliteStore({ ...target, keys });
  }
}

async function openStoppedEtcd(
  target: StoreTarget & { readonly kind: "etcd" },
  keys: StateKeys,
): Promise<Store> {
  const stop = new AbortController();
  let active: string | undefined;
  try {
    return await openEtcdStore({
      ...target,
      keys,
      identity: "batuta key rotate",
      signal: stop.signal,
      onStandby(who) {
        active = who;
        stop.abort();
      },
      onLost: () => {},
    });
  } catch (error) {
    if (active === undefined) throw error;
    throw new CodedError(
      "failedPrecondition",
      `Cannot rotate the key: server "${active}" is active; stop all servers first`,
    );
  }
}

/** An etcd that is started for this; while a server runs, its own has the data. */
async function openEtcdChild(
  target: StoreTarget & { readonly kind: "etcd child" },
  keys: StateKeys,
): Promise<Store> {
  await mustExist("data directory of etcd", target.dataDirectory);
  const child = await startEtcd(target);
  try {
    const store = await openEtcdStore({
      endpoints: [child.endpoint],
      prefix: target.prefix,
      keys,
      identity: "batuta key rotate",
      isAlone: true,
      onLost: () => {},
    });
    return closeAfter(store, child);
  } catch (error) {
    await child.close();
    throw error;
  }
}

/** Opening would make a new state where there is none. */
async function mustExist(what: string, path: string): Promise<void> {
  if (await Deno.stat(path).then(() => true, () => false)) return;
  throw new CodedError("notFound", `Cannot find ${what} "${path}"`);
}

function* batches(
  resources: readonly RawResource[],
  limits: { readonly changes: number; readonly bytes: number },
): Iterable<readonly RawResource[]> {
  let batch: RawResource[] = [];
  let bytes = 0;
  for (const resource of resources) {
    bytes += resource.messageSize;
    if (batch.length === limits.changes || (batch.length > 0 && bytes > limits.bytes)) {
      yield batch;
      batch = [];
      bytes = resource.messageSize;
    }
    batch.push(resource);
  }
  if (batch.length > 0) yield batch;
}

/**
 * The records as they are, with the revision of their kind. The version stays too, but on etcd, where
 * it is the key's own and each put counts it up.
 */
function changes(image: StoreImage, batch: readonly RawResource[]) {
  return batch.map((resource) => {
    const { namespace, type, id, version } = resource.metadata;
    const kind = image.kinds.find((each) => each.namespace === namespace && each.type === type);
    const revision = kind?.revision ?? 0;
    return { ref: { namespace, type, id }, resource, revision, storedVersion: version };
  });
}
