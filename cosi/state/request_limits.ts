// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Bounds of the names and texts that clients write.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { ResourceDraft } from "./state.ts";

/** Bounds in UTF-16 units and in numbers of entries. */
export interface NameLimits {
  /** Length of a namespace, a type, an ID, an owner, a finalizer, a label's or annotation's key. */
  readonly nameLength: number;
  /** Length of a label's value. */
  readonly labelLength: number;
  /** Length of an annotation's value. */
  readonly annotationLength: number;
  /** Labels, annotations and finalizers of one resource, each. */
  readonly entries: number;
}

// Wide enough for everything that is in use: IDs are names, UUIDs, paths and addresses.
const DEFAULTS: NameLimits = {
  nameLength: 1024,
  labelLength: 4096,
  annotationLength: 256 * 1024,
  entries: 512,
};

/** The limits with their defaults. */
export function withNameLimits(limits: Partial<NameLimits> = {}): NameLimits {
  return { ...DEFAULTS, ...limits };
}

function tooLong(what: string, text: string, limit: number): CodedError {
  return new CodedError(
    "invalidArgument",
    `The ${what} is too long: ${text.length} characters, the limit is ${limit}`,
  );
}

/** Checks the names in a request. */
export function checkNames(
  { namespace, type, id = "" }: { namespace: string; type: string; id?: string | undefined },
  { nameLength }: NameLimits,
): void {
  if (namespace.length > nameLength) throw tooLong("namespace", namespace, nameLength);
  if (type.length > nameLength) throw tooLong("type", type, nameLength);
  if (id.length > nameLength) throw tooLong("ID", id, nameLength);
}

/** Checks a resource that a client writes; throws `invalidArgument`. */
export function checkDraft({ metadata }: ResourceDraft, limits: NameLimits): void {
  checkNames(metadata, limits);
  if (metadata.namespace === "" || metadata.type === "" || metadata.id === "") {
    throw new CodedError("invalidArgument", "A resource must have a namespace, a type and an ID");
  }
  const { finalizers, labels, annotations } = metadata;
  checkCount("finalizers", finalizers.length, limits);
  for (const finalizer of finalizers) {
    if (finalizer.length > limits.nameLength) {
      throw tooLong("finalizer", finalizer, limits.nameLength);
    }
  }
  checkRecord("label", labels, limits.labelLength, limits);
  checkRecord("annotation", annotations, limits.annotationLength, limits);
}

function checkCount(what: string, count: number, { entries }: NameLimits): void {
  if (count <= entries) return;
  throw new CodedError(
    "invalidArgument",
    `The resource has too many ${what}: ${count}, the limit is ${entries}`,
  );
}

function checkRecord(
  what: string,
  record: Readonly<Record<string, string>>,
  valueLength: number,
  limits: NameLimits,
): void {
  let count = 0;
  for (const key in record) {
    count++;
    const value = record[key] ?? "";
    if (key.length > limits.nameLength) throw tooLong(`key of a ${what}`, key, limits.nameLength);
    if (value.length > valueLength) throw tooLong(`value of ${what} "${key}"`, value, valueLength);
  }
  checkCount(`${what}s`, count, limits);
}
