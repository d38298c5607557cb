// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The store of the runtime itself, Deno KV: for ephemeral and hosted runs.
 *
 * Deno KV knows no lock, so a store that is a file gets one. One that is not, or whose file the
 * runtime chooses, has none; but every commit demands that the state is as this process has left it,
 * so when two processes open it, the later one goes on, and the earlier one finds out at its next
 * write and ends.
 *
 * @module
 */

import { createHash } from "node:crypto";
import { CodedError } from "../../base/errors.ts";
import type { Kind, Ref } from "../resource.ts";
import { RawResource } from "../state/raw_resource.ts";
import { type Codec, createCodec, KEY_CHECK, type StateKeys } from "./codec.ts";
import { decodeEpochs, encodeEpochs } from "./epochs.ts";
import { lockFile } from "./file_lock.ts";
import { decodeNumber, encodeNumbers, kindKey, type KindNumbers } from "./numbers.ts";
import type { Store, StoreBatch, StoreImage } from "./store.ts";

/** Options of {@linkcode openKvStore}. */
export interface KvOptions {
  /** The file; where the runtime keeps its stores when absent. */
  readonly path?: string | undefined;
  /** The keys of the records; without them nothing is encrypted. */
  readonly keys?: StateKeys | undefined;
}

/** Deno KV takes values of up to 65,536 bytes with their type. */
const PART_BYTES = 65_000;

/** Deno KV takes at most 1,000 mutations and 819,200 bytes at once. */
const BATCH_CHANGES = 200;
const BATCH_BYTES = 400_000;
const RECORD_BYTES = 700_000;

/** Resources of one piece while loading. */
const PIECE = 200;

const RESOURCES = ["batuta", "resource"];
const KINDS = ["batuta", "kind"];
const REVISION = ["batuta", "meta", "revision"];
const EPOCHS = ["batuta", "meta", "epochs"];
const CHECK = ["batuta", "meta", "key-check"];

/** Opens the store. Throws `unavailable` when another process has its file. */
export async function openKvStore({ path, keys }: KvOptions): Promise<Store> {
  const where = path === undefined ? "of the runtime" : `"${path}"`;
  const isFile = path !== undefined && path !== ":memory:" && !/^https?:/.test(path);
  let kv: Deno.Kv;
  try {
    kv = await Deno.openKv(path);
  } catch (cause) {
    throw new CodedError(
      "failedPrecondition",
      `Cannot open KV store ${where}; check that the path is right and the file undamaged`,
      { cause },
    );
  }
  try {
    const lock = isFile ? await lockFile(path, `KV store ${where}`) : undefined;
    return new KvStore(kv, where, createCodec(keys), lock);
  } catch (error) {
    kv.close();
    throw error;
  }
}

class KvStore implements Store {
  readonly immediate = false;
  readonly batchLimits = { changes: BATCH_CHANGES, bytes: BATCH_BYTES };
  readonly #kv: Deno.Kv;
  readonly #where: string;
  readonly #codec: Codec;
  readonly #lock: Deno.FsFile | undefined;
  readonly #kinds = new Map<string, Kind & KindNumbers>();
  /** How many parts a record has, for those of more than one. */
  readonly #parts = new Map<string, number>();
  /** The versionstamp of the revision: what this process has left. */
  #stamp: string | null = null;
  #hasKeyCheck = false;

  constructor(kv: Deno.Kv, where: string, codec: Codec, lock: Deno.FsFile | undefined) {
    this.#kv = kv;
    this.#where = where;
    this.#codec = codec;
    this.#lock = lock;
  }

  async load(): Promise<StoreImage> {
    const [revision, epochs, check] = await this.#kv.getMany<[Uint8Array, Uint8Array, Uint8Array]>(
      [REVISION, EPOCHS, CHECK],
    );
    this.#stamp = revision.versionstamp;
    this.#hasKeyCheck = check.value !== null;
    if (check.value !== null) this.#checkKey(check.value);
    for await (const { key, value } of this.#kv.list<Uint8Array>({ prefix: KINDS })) {
      const [namespace, type] = key.slice(KINDS.length).map(String);
      const kind = { namespace: namespace ?? "", type: type ?? "" };
      const numbers = { revision: decodeNumber(value), count: decodeNumber(value, 1) };
      this.#kinds.set(kindKey(kind), { ...kind, ...numbers });
    }
    return {
      revision: decodeNumber(revision.value ?? undefined),
      epochs: decodeEpochs(epochs.value ?? new Uint8Array(0)),
      kinds: [...this.#kinds.values()],
      resources: this.#resources(),
    };
  }

  #checkKey(record: Uint8Array): void {
    try {
      this.#codec.open(record);
    } catch (cause) {
      throw new CodedError(
        "failedPrecondition",
        `Cannot read KV store ${this.#where}: the key is not the one it was written with`,
        { cause },
      );
    }
  }

  async *#resources(): AsyncIterable<readonly RawResource[]> {
    const found = new Map<string, number>();
    let piece: RawResource[] = [];
    for await (const { key, record } of this.#records()) {
      const resource = this.#read(key, record);
      const kind = kindKey(resource.metadata);
      found.set(kind, (found.get(kind) ?? 0) + 1);
      piece.push(resource);
      if (piece.length < PIECE) continue;
      yield piece;
      piece = [];
    }
    yield piece;
    for (const [kind, { namespace, type, count }] of this.#kinds) {
      if ((found.get(kind) ?? 0) === count) continue;
      throw new CodedError(
        "dataLoss",
        `Cannot read KV store ${this.#where}: ${found.get(kind) ?? 0} of ${count} resources of ` +
          `${namespace}/${type} are there; restore it from a copy, nothing was changed`,
      );
    }
  }

  /** The records with their parts put together; a part's first byte tells how many follow. */
  async *#records(): AsyncIterable<{ key: Deno.KvKey; record: Uint8Array }> {
    let parts: Uint8Array[] = [];
    for await (const { key, value } of this.#kv.list<Uint8Array>({ prefix: RESOURCES })) {
      parts.push(value.subarray(1));
      if (value[0] !== 0) continue;
      const [only] = parts;
      if (parts.length > 1) this.#parts.set(partsKey(key.slice(0, -1)), parts.length);
      const record = parts.length === 1 && only !== undefined ? only : concatenate(parts);
      yield { key, record };
      parts = [];
    }
  }

  #read(key: Deno.KvKey, record: Uint8Array): RawResource {
    const name = key.slice(RESOURCES.length).join("/");
    let resource: RawResource;
    try {
      resource = RawResource.fromWire(this.#codec.open(record));
    } catch (cause) {
      throw new CodedError(
        "dataLoss",
        `Cannot read KV store ${this.#where}: the record ${name} cannot be opened; nothing was changed`,
        { cause },
      );
    }
    if (partsKey(recordKey(resource.metadata)) === partsKey(key.slice(0, -1))) return resource;
    throw new CodedError(
      "dataLoss",
      `Cannot read KV store ${this.#where}: the record ${name} is of another resource`,
    );
  }

  async commit(batch: StoreBatch): Promise<void> {
    const atomic = this.#kv.atomic().check({ key: REVISION, versionstamp: this.#stamp });
    const kinds = new Map<string, Kind & KindNumbers>();
    const parts = new Map<string, number>();
    for (const { ref, resource, revision, storedVersion } of batch.changes) {
      parts.set(partsKey(recordKey(ref)), this.#change(atomic, ref, resource));
      const id = kindKey(ref);
      const count = (kinds.get(id) ?? this.#kinds.get(id))?.count ?? 0;
      const delta = resource === undefined ? -1 : storedVersion > 0 ? 0 : 1;
      const { namespace, type } = ref;
      kinds.set(id, { namespace, type, revision, count: count + delta });
    }
    for (const { namespace, type, revision, count } of kinds.values()) {
      atomic.set([...KINDS, namespace, type], encodeNumbers(revision, count));
    }
    atomic.set(REVISION, encodeNumbers(batch.revision));
    if (batch.epochs !== undefined) atomic.set(EPOCHS, encodeEpochs(batch.epochs));
    if (!this.#hasKeyCheck || batch.keyRotated) atomic.set(CHECK, this.#codec.seal(KEY_CHECK));
    const result = await atomic.commit();
    if (!result.ok) {
      throw new CodedError(
        "aborted",
        `Cannot write KV store ${this.#where}: another process has opened and changed it`,
      );
    }
    this.#stamp = result.versionstamp;
    this.#hasKeyCheck = true;
    for (const [key, kind] of kinds) this.#kinds.set(key, kind);
    for (const [key, count] of parts) {
      if (count > 1) this.#parts.set(key, count);
      else this.#parts.delete(key);
    }
  }

  /** Adds the mutations of one change; returns how many parts the record then has. */
  #change(atomic: Deno.AtomicOperation, ref: Ref, resource: RawResource | undefined): number {
    const key = recordKey(ref);
    const before = this.#parts.get(partsKey(key)) ?? 1;
    const record = resource && this.#codec.seal(resource.wire);
    if (record !== undefined && record.length > RECORD_BYTES) {
      throw new CodedError(
        "invalidArgument",
        `Cannot store ${ref.type} "${ref.namespace}/${ref.id}": it has ${record.length} bytes, and ` +
          `Deno KV takes at most ${RECORD_BYTES}`,
      );
    }
    const count = record === undefined ? 0 : Math.max(1, Math.ceil(record.length / PART_BYTES));
    for (let part = 0; part < count; part++) {
      const bytes = record?.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
      const value = new Uint8Array(1 + (bytes?.length ?? 0));
      value[0] = count - part - 1;
      if (bytes !== undefined) value.set(bytes, 1);
      atomic.set([...key, part], value);
    }
    for (let part = count; part < before; part++) atomic.delete([...key, part]);
    return count;
  }

  close(): Promise<void> {
    this.#kv.close();
    this.#lock?.close();
    return Promise.resolve();
  }
}

/** The key of a resource's parts without their number. */
function recordKey({ namespace, type, id }: Ref): string[] {
  return [...RESOURCES, namespace, type, createHash("sha256").update(id).digest("hex")];
}

function partsKey(key: Deno.KvKey): string {
  return key.join("\0");
}

function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
