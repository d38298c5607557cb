// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The store of several nodes: an etcd that all servers share, of which one is active.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Clock, systemClock } from "../../base/clock.ts";
import { CodedError, codeOf } from "../../base/errors.ts";
import {
  Compare_CompareResult,
  Compare_CompareTarget,
  type CompareSchema,
  type KeyValue,
  type RequestOpSchema,
} from "../../proto/gen/etcd/etcd_pb.ts";
import type { Kind, Ref } from "../resource.ts";
import { RawResource } from "../state/raw_resource.ts";
import { type Codec, createCodec, KEY_CHECK, type StateKeys } from "./codec.ts";
import { decodeEpochs, encodeEpochs } from "./epochs.ts";
import { createEtcdClient, type EtcdClient, type EtcdClientOptions } from "./etcd_client.ts";
import { type EtcdLayout, etcdLayout, rangeEnd } from "./etcd_layout.ts";
import { campaign, type Leadership } from "./etcd_leadership.ts";
import { decodeNumber, encodeNumbers, kindKey, type KindNumbers } from "./numbers.ts";
import type { Store, StoreBatch, StoreImage } from "./store.ts";

/** Options of {@linkcode openEtcdStore}. */
export interface EtcdStoreOptions extends EtcdClientOptions {
  /** What the keys of all resources begin with. */
  readonly prefix?: string | undefined;
  /** The keys of the records; without them nothing is encrypted. */
  readonly keys?: StateKeys | undefined;
  /** How other servers name this one. */
  readonly identity: string;
  /** Seconds of the lease: the longest time without any active server after a crash. */
  readonly leaseTtlSeconds?: number | undefined;
  /**
   * Whether no other server can be there, because this etcd was started by this one: what holds the
   * place of the active server is then a server that has ended, and it is not waited for.
   */
  readonly isAlone?: boolean | undefined;
  /** Stops standing by. */
  readonly signal?: AbortSignal | undefined;
  /** Is told whenever another server is seen to be the active one. */
  readonly onStandby?: ((active: string) => void) | undefined;
  /** Is told once when this server becomes the active one. */
  readonly onActive?: (() => void) | undefined;
  /** Is told once that this server may not write any more: it must end at once. */
  readonly onLost: (error: CodedError) => void;
  readonly clock?: Clock | undefined;
}

const LEASE_TTL_SECONDS = 5;

/** Keys of one page while loading: opening them must not block the process for long. */
const PAGE = 200;

/** etcd refuses transactions of more than 128 operations; some are ours. */
const BATCH_CHANGES = 50;

/** etcd refuses requests of more than 1.5 MiB. */
const BATCH_BYTES = 1 << 20;
const RECORD_BYTES = 1_500_000;

const RETRY_MS = 200;

type Op = MessageInitShape<typeof RequestOpSchema>;
type Comparison = MessageInitShape<typeof CompareSchema>;

/**
 * Opens the store: waits, perhaps for days, until this server is the active one.
 *
 * Throws `unavailable` when no member can be reached, `cancelled` when the signal aborts.
 */
export async function openEtcdStore(options: EtcdStoreOptions): Promise<Store> {
  const layout = etcdLayout(options.prefix ?? "/cosi");
  const client = createEtcdClient(options);
  try {
    const leadership = await campaign({
      ...options,
      client,
      key: layout.leader,
      ttlSeconds: options.leaseTtlSeconds ?? LEASE_TTL_SECONDS,
    });
    options.onActive?.();
    return new EtcdStore(client, layout, createCodec(options.keys), leadership, options.clock);
  } catch (error) {
    client.close();
    throw error;
  }
}

class EtcdStore implements Store {
  readonly immediate = false;
  readonly batchLimits = { changes: BATCH_CHANGES, bytes: BATCH_BYTES };
  readonly #client: EtcdClient;
  readonly #layout: EtcdLayout;
  readonly #codec: Codec;
  readonly #leadership: Leadership;
  readonly #clock: Clock;
  readonly #kinds = new Map<string, Kind & KindNumbers>();
  /** The value of the revision key, absent in a new state. */
  #revision: Uint8Array | undefined;
  #hasKeyCheck = false;

  constructor(
    client: EtcdClient,
    layout: EtcdLayout,
    codec: Codec,
    leadership: Leadership,
    clock: Clock = systemClock,
  ) {
    this.#client = client;
    this.#layout = layout;
    this.#codec = codec;
    this.#leadership = leadership;
    this.#clock = clock;
  }

  async load(): Promise<StoreImage> {
    const { own } = this.#layout;
    const { kvs, header } = await this.#client.range({ key: own, rangeEnd: rangeEnd(own) });
    const find = (key: Uint8Array): Uint8Array | undefined =>
      kvs.find((pair) => equal(pair.key, key))?.value;
    this.#revision = find(this.#layout.revision);
    this.#checkKey(find(this.#layout.keyCheck));
    for (const { key, value } of kvs) {
      const kind = this.#layout.kindOf(key);
      if (kind === undefined) continue;
      const numbers = { revision: decodeNumber(value), count: decodeNumber(value, 1) };
      this.#kinds.set(kindKey(kind), { ...kind, ...numbers });
    }
    return {
      revision: decodeNumber(this.#revision),
      epochs: decodeEpochs(find(this.#layout.epochs) ?? new Uint8Array(0)),
      kinds: [...this.#kinds.values()],
      resources: this.#resources(header?.revision ?? 0n),
    };
  }

  #checkKey(record: Uint8Array | undefined): void {
    this.#hasKeyCheck = record !== undefined;
    if (record === undefined) return;
    try {
      this.#codec.open(record);
    } catch (cause) {
      throw new CodedError(
        "failedPrecondition",
        "Cannot read the state in etcd: the key is not the one it was written with",
        { cause },
      );
    }
  }

  /** All resources as of one revision of etcd. */
  async *#resources(revision: bigint): AsyncIterable<readonly RawResource[]> {
    const found = new Map<string, number>();
    for await (const kvs of this.#pages(revision)) {
      const resources = kvs.map((pair) => this.#read(pair));
      for (const { metadata } of resources) {
        const key = kindKey(metadata);
        found.set(key, (found.get(key) ?? 0) + 1);
      }
      yield resources;
    }
    this.#checkCounts(found);
  }

  /** The stored pairs of all resources as of one revision of etcd. */
  async *#pages(revision: bigint): AsyncIterable<readonly KeyValue[]> {
    const end = rangeEnd(this.#layout.resources);
    let key = this.#layout.resources;
    for (let more = true; more;) {
      const page = await this.#client.range({ key, rangeEnd: end, limit: BigInt(PAGE), revision });
      more = page.more;
      const last = page.kvs[page.kvs.length - 1];
      if (last === undefined) return;
      // The least key after the last one.
      key = new Uint8Array(last.key.length + 1);
      key.set(last.key);
      yield page.kvs;
    }
  }

  #read({ key, value, version }: KeyValue): RawResource {
    const name = new TextDecoder().decode(key);
    let resource: RawResource;
    try {
      resource = RawResource.fromWire(this.#codec.open(value));
    } catch (cause) {
      throw new CodedError(
        "dataLoss",
        `Cannot read the state in etcd: the record "${name}" cannot be opened; nothing was changed`,
        { cause },
      );
    }
    if (!equal(this.#layout.resource(resource.metadata), key)) {
      throw new CodedError(
        "dataLoss",
        `Cannot read the state in etcd: the record "${name}" is of another resource`,
      );
    }
    // The layout says that a key's own version is that of the resource.
    if (resource.metadata.version === Number(version)) return resource;
    const metadata = { ...resource.metadata, version: Number(version) };
    return new RawResource(metadata, resource.protoSpec, resource.yamlSpec);
  }

  #checkCounts(found: ReadonlyMap<string, number>): void {
    // A state that another program has written has no numbers of ours.
    if (this.#revision === undefined) {
      for (const [key, count] of found) {
        const [namespace = "", type = ""] = key.split("\0");
        this.#kinds.set(key, { namespace, type, revision: 0, count });
      }
      return;
    }
    for (const [key, { namespace, type, count }] of this.#kinds) {
      if ((found.get(key) ?? 0) === count) continue;
      throw new CodedError(
        "dataLoss",
        `Cannot read the state in etcd: ${found.get(key) ?? 0} of ${count} resources of ` +
          `${namespace}/${type} are there; restore etcd from a snapshot, nothing was changed`,
      );
    }
  }

  async commit(batch: StoreBatch): Promise<void> {
    const ops: Op[] = [];
    const kinds = new Map<string, Kind & KindNumbers>();
    for (const { ref, resource, revision, storedVersion } of batch.changes) {
      ops.push(this.#op(ref, resource));
      const id = kindKey(ref);
      const count = (kinds.get(id) ?? this.#kinds.get(id))?.count ?? 0;
      const delta = resource === undefined ? -1 : storedVersion > 0 ? 0 : 1;
      const { namespace, type } = ref;
      kinds.set(id, { namespace, type, revision, count: count + delta });
    }
    for (const kind of kinds.values()) {
      ops.push(put(this.#layout.kind(kind), encodeNumbers(kind.revision, kind.count)));
    }
    const revision = encodeNumbers(batch.revision);
    ops.push(put(this.#layout.revision, revision));
    if (batch.epochs !== undefined) {
      ops.push(put(this.#layout.epochs, encodeEpochs(batch.epochs)));
    }
    if (!this.#hasKeyCheck || batch.keyRotated) {
      ops.push(put(this.#layout.keyCheck, this.#codec.seal(KEY_CHECK)));
    }
    await this.#fenced(ops, revision);
    this.#revision = revision;
    this.#hasKeyCheck = true;
    for (const [key, kind] of kinds) this.#kinds.set(key, kind);
  }

  #op(ref: Ref, resource: RawResource | undefined): Op {
    const key = this.#layout.resource(ref);
    if (resource === undefined) return remove(key);
    const record = this.#codec.seal(resource.wire);
    if (record.length <= RECORD_BYTES) return put(key, record);
    throw new CodedError(
      "invalidArgument",
      `Cannot store ${ref.type} "${ref.namespace}/${ref.id}": it has ${record.length} bytes, and ` +
        `etcd takes at most ${RECORD_BYTES}`,
    );
  }

  /** Makes a transaction that only the active server can make, and only on what it last left. */
  async #fenced(success: Op[], revision: Uint8Array): Promise<void> {
    const { leader, revision: revisionKey } = this.#layout;
    const compare = [
      created(leader, this.#leadership.createRevision),
      this.#revision === undefined ? created(revisionKey, 0n) : valued(revisionKey, this.#revision),
    ];
    const failure = [read(leader), read(revisionKey)];
    for (let uncertain = false;; uncertain = true) {
      const lost = this.#leadership.lost();
      if (lost !== undefined) throw lost;
      try {
        const { succeeded, responses } = await this.#client.txn({ compare, success, failure });
        if (succeeded) return;
        const [holder, stored] = responses.map(({ response }) => response.value?.kvs[0]);
        const isActive = holder?.createRevision === this.#leadership.createRevision;
        // An attempt whose answer was lost had been made.
        if (uncertain && isActive && stored && equal(stored.value, revision)) return;
        throw new CodedError(
          "aborted",
          isActive
            ? "Cannot write: something else has changed the state in etcd"
            : "Cannot write: another server is the active one",
        );
      } catch (error) {
        if (codeOf(error) !== "unavailable") throw error;
      }
      await this.#clock.sleep(RETRY_MS);
    }
  }

  async close(): Promise<void> {
    await this.#leadership.resign();
    this.#client.close();
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

function put(key: Uint8Array, value: Uint8Array): Op {
  return { request: { case: "requestPut", value: { key, value } } };
}

function remove(key: Uint8Array): Op {
  return { request: { case: "requestDeleteRange", value: { key } } };
}

function read(key: Uint8Array): Op {
  return { request: { case: "requestRange", value: { key } } };
}

function created(key: Uint8Array, value: bigint): Comparison {
  const target = Compare_CompareTarget.CREATE;
  const result = Compare_CompareResult.EQUAL;
  return { key, target, result, targetUnion: { case: "createRevision", value } };
}

function valued(key: Uint8Array, value: Uint8Array): Comparison {
  const target = Compare_CompareTarget.VALUE;
  const result = Compare_CompareResult.EQUAL;
  return { key, target, result, targetUnion: { case: "value", value } };
}
