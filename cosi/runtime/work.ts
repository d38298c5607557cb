// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a controller does with its items, behind the queue that every shape shares.
 *
 * @module
 */

import type { RawResource } from "../state/raw_resource.ts";
import type { ItemResult } from "./item.ts";

/** The part of a running controller that its shape decides. */
export interface Work {
  /** Brings one item nearer to where it should be. */
  reconcile(id: string, signal: AbortSignal): Promise<ItemResult>;
  /** The IDs of all items. */
  allIds(): Promise<Iterable<string>>;
  /** The IDs of the items that carry a label with a value. */
  labelledIds(label: string, value: string): Promise<Iterable<string>>;
  /** Works in the background until the signal aborts; must not reject. */
  run?(signal: AbortSignal, wake: (id: string) => void): Promise<void>;
}

/** The IDs of resources. */
export function idsOf(resources: readonly RawResource[]): string[] {
  return resources.map(({ metadata }) => metadata.id);
}
