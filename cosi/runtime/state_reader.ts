// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads of controllers: counted, and limited to what was declared.
 *
 * @module
 */

import { codeOf } from "../../base/errors.ts";
import type { ListOptions, Reader } from "../controller.ts";
import type { Ref, Resource, ResourceType } from "../resource.ts";
import type { LabelQuery, LabelTerm } from "../state/label_query.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { State } from "../state/state.ts";
import { BrokenInvariant } from "./failures.ts";

/** A state in this process can answer without an error for what is absent. */
type PeekingState = State & { readonly peek?: (ref: Ref) => RawResource | undefined };

/** Reads one resource, or `undefined`. */
export async function findRaw(state: PeekingState, ref: Ref): Promise<RawResource | undefined> {
  if (state.peek !== undefined) return state.peek(ref);
  try {
    return await state.get(ref);
  } catch (error) {
    if (codeOf(error) === "notFound") return undefined;
    throw error;
  }
}

/** A stored resource with its spec decoded. */
export function decoded<T extends ResourceType>(type: T, raw: RawResource): Resource<T> {
  return { metadata: raw.metadata, spec: raw.decode(type.schema) as Resource<T>["spec"] };
}

/** The condition that a label has a value. */
export function labelEquals(key: string, value: string): LabelTerm {
  return { key, op: "equal", values: [value], invert: false };
}

/** What {@linkcode createReader} needs. */
export interface ReaderOptions {
  readonly state: State;
  readonly controller: string;
  readonly types: readonly ResourceType[];
  readonly onRead: () => void;
}

/** Makes the reader of a controller. */
export function createReader(options: ReaderOptions): Reader<ResourceType> {
  const { state, controller, types, onRead } = options;
  const declared = new Set(types.map((type) => `${type.namespace}/${type.type}`));
  const check = (type: ResourceType): void => {
    onRead();
    if (declared.has(`${type.namespace}/${type.type}`)) return;
    throw new BrokenInvariant(
      `Cannot read "${type.type}": controller "${controller}" does not declare it as an input`,
    );
  };
  const find = async <U extends ResourceType>(type: U, id: string) => {
    check(type);
    const raw = await findRaw(state, { namespace: type.namespace, type: type.type, id });
    return raw === undefined ? undefined : decoded(type, raw);
  };
  return {
    find,
    get: async (type, id) => {
      check(type);
      return decoded(type, await state.get({ namespace: type.namespace, type: type.type, id }));
    },
    list: async (type, list = {}) => {
      check(type);
      const raws = await state.list(type, selectionOf(list));
      return raws.map((raw) => decoded(type, raw));
    },
  };
}

function selectionOf({ labels = {}, terms = [] }: ListOptions): {
  readonly labelQueries: readonly LabelQuery[];
} {
  const all = [
    ...Object.entries(labels).map(([key, value]) => labelEquals(key, value)),
    ...terms,
  ];
  return { labelQueries: all.length === 0 ? [] : [{ terms: all }] };
}
