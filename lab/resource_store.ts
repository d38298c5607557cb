// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The resources of one machine in one boot: written by the machine, read and watched over its API.
 *
 * @module
 */

import { create, type DescMessage, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type Metadata,
  MetadataSchema,
  type Resource,
  ResourceSchema,
} from "../proto/gen/cosi/resource_pb.ts";
import { MACHINE_KINDS } from "./kinds.ts";
import { specYaml } from "./spec_yaml.ts";

/** A change of one resource; `old` is absent for a new one. */
export interface ResourceChange {
  readonly kind: "created" | "updated" | "destroyed";
  readonly resource: Resource;
  readonly old?: Resource;
  /** Counts the changes of the machine from 1, over all types. */
  readonly position: number;
}

/** Both forms of a spec. */
export interface EncodedSpec {
  readonly protoSpec: Uint8Array;
  readonly yamlSpec: string;
}

/** Encodes a spec. */
export function encodeSpec<S extends DescMessage>(
  schema: S,
  spec: MessageShape<S>,
  yaml?: string,
): EncodedSpec {
  return { protoSpec: toBinary(schema, spec), yamlSpec: yaml ?? specYaml(schema, spec) };
}

/** Options of {@linkcode ResourceStore.put}. */
export interface PutOptions {
  /** The YAML text where it is not made from the message. */
  readonly yaml?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Holds resources; each type keeps its last changes for watchers that come back. */
export interface ResourceStore {
  /** Writes a resource; equal content changes nothing. */
  put<S extends DescMessage>(
    type: string,
    id: string,
    schema: S,
    spec: MessageShape<S>,
    options?: PutOptions,
  ): void;
  /** The same with a spec that was encoded before, for one that many machines show. */
  putEncoded(type: string, id: string, spec: EncodedSpec, options?: PutOptions): void;
  remove(type: string, id: string, namespace?: string): void;
  /** Takes over resources that never change, by ID. */
  adopt(namespace: string, type: string, resources: ReadonlyMap<string, Resource>): void;
  find(namespace: string, type: string, id: string): Resource | undefined;
  /** Sorted by ID. */
  list(namespace: string, type: string): Resource[];
  /** The last changes of a type, oldest first. */
  history(namespace: string, type: string): readonly ResourceChange[];
  /** The number of the last change. */
  position(): number;
  /** Calls back at each change of a type, until the returned function is called. */
  subscribe(
    namespace: string,
    type: string,
    listener: (change: ResourceChange) => void,
  ): () => void;
}

/** How many changes of one type are kept; the default of the public runtime. */
const HISTORY = 100;

/** Creates an empty store. */
export function createResourceStore(nowMs: () => number): ResourceStore {
  const kinds = new Map<string, KindState>();
  let position = 0;
  const kindOf = (namespace: string, type: string): KindState => {
    const key = `${namespace}/${type}`;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const made: KindState = { resources: new Map(), changes: [], listeners: new Set() };
    kinds.set(key, made);
    return made;
  };
  const publish = (kind: KindState, change: Omit<ResourceChange, "position">): void => {
    const numbered = { ...change, position: ++position };
    kind.changes.push(numbered);
    if (kind.changes.length > HISTORY) kind.changes.shift();
    for (const listener of [...kind.listeners]) listener(numbered);
  };
  const putEncoded = (
    type: string,
    id: string,
    spec: EncodedSpec,
    options: PutOptions = {},
  ): void => {
    const namespace = options.namespace ?? namespaceOf(type);
    const kind = kindOf(namespace, type);
    const old = kind.resources.get(id);
    if (old?.spec !== undefined && sameSpec(old.spec, spec)) return;
    const resource = create(ResourceSchema, {
      metadata: metadataOf({ namespace, type, id }, old, timestampFromMs(nowMs()), options),
      spec,
    });
    kind.resources.set(id, resource);
    publish(
      kind,
      old === undefined ? { kind: "created", resource } : { kind: "updated", resource, old },
    );
  };
  return {
    put: (type, id, schema, spec, options = {}) =>
      putEncoded(type, id, encodeSpec(schema, spec, options.yaml), options),
    putEncoded,
    remove: (type, id, namespace = namespaceOf(type)) => {
      const kind = kindOf(namespace, type);
      const resource = kind.resources.get(id);
      if (resource === undefined) return;
      kind.resources.delete(id);
      publish(kind, { kind: "destroyed", resource });
    },
    adopt: (namespace, type, resources) =>
      void kinds.set(`${namespace}/${type}`, {
        resources: new Map(resources),
        changes: [],
        listeners: new Set(),
      }),
    find: (namespace, type, id) => kindOf(namespace, type).resources.get(id),
    list: (namespace, type) =>
      [...kindOf(namespace, type).resources.entries()]
        .sort(([a], [b]) => a < b ? -1 : 1).map(([, resource]) => resource),
    history: (namespace, type) => kindOf(namespace, type).changes,
    position: () => position,
    subscribe: (namespace, type, listener) => {
      const { listeners } = kindOf(namespace, type);
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

function metadataOf(
  ref: { readonly namespace: string; readonly type: string; readonly id: string },
  old: Resource | undefined,
  now: Timestamp,
  { annotations }: PutOptions,
): Metadata {
  return create(MetadataSchema, {
    ...ref,
    version: String(old === undefined ? 1 : Number(old.metadata?.version) + 1),
    owner: "lab.MachineController",
    phase: "running",
    created: old?.metadata?.created ?? now,
    updated: now,
    annotations: { ...annotations },
  });
}

interface KindState {
  readonly resources: Map<string, Resource>;
  readonly changes: ResourceChange[];
  readonly listeners: Set<(change: ResourceChange) => void>;
}

function namespaceOf(type: string): string {
  const kind = MACHINE_KINDS.get(type);
  if (kind === undefined) throw new TypeError(`unknown machine resource type "${type}"`);
  return kind.namespace;
}

function sameSpec(a: EncodedSpec, b: EncodedSpec): boolean {
  if (a.yamlSpec !== b.yamlSpec) return false;
  return a.protoSpec === b.protoSpec || a.protoSpec.length === b.protoSpec.length &&
      a.protoSpec.every((byte, index) => byte === b.protoSpec[index]);
}
