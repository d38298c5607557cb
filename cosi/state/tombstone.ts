// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Metadata with nothing in them but a name.
 *
 * @module
 */

import type { Metadata } from "../resource.ts";

/** The one empty list of all resources. */
export const EMPTY_LIST: readonly string[] = Object.freeze([]);
/** The one empty record of all resources. */
export const EMPTY_RECORD: Readonly<Record<string, string>> = Object.freeze({});

/** Metadata of a resource that does not exist, as events without a resource carry it. */
export function tombstoneMetadata(namespace: string, type: string, id: string): Metadata {
  return {
    namespace,
    type,
    id,
    version: 0,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: EMPTY_LIST,
    labels: EMPTY_RECORD,
    annotations: EMPTY_RECORD,
  };
}
