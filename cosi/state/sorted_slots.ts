// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The resources of one kind in the order of their IDs.
 *
 * A list of short arrays: inserting moves at most one of them, where a single array would move
 * megabytes for each resource that is created.
 *
 * @module
 */

import { compareCodePoints } from "./label_query.ts";
import type { RawResource } from "./raw_resource.ts";

/** The place of one ID; the resource in it changes, the place stays. */
export interface Slot {
  readonly id: string;
  resource: RawResource;
}

const CHUNK_LIMIT = 512;

/** Code units whose order is not that of UTF-8: surrogates and what lies behind them. */
const OUT_OF_ORDER = /[\ud800-\uffff]/;

type Before = (a: string, b: string) => boolean;

const before: Before = (a, b) => compareCodePoints(a, b) < 0;
const quickBefore: Before = (a, b) => a < b;

/** An ordered collection of slots. */
export class SortedSlots {
  readonly #chunks: Slot[][] = [];
  #size = 0;
  /** The engine's own comparison, as long as no ID is in it for which that is wrong. */
  #before = quickBefore;

  get size(): number {
    return this.#size;
  }

  /** The last chunk whose first ID is not after `id`. */
  #chunkFor(id: string): number {
    let low = 0;
    let high = this.#chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const first = this.#chunks[middle]?.[0];
      if (first !== undefined && !this.#before(id, first.id)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Inserts a slot whose ID is not there yet. */
  insert(slot: Slot): void {
    this.#size++;
    // What is there already has the same order either way.
    if (this.#before === quickBefore && OUT_OF_ORDER.test(slot.id)) this.#before = before;
    const at = this.#chunkFor(slot.id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) {
      this.#chunks.push([slot]);
      return;
    }
    const last = chunk[chunk.length - 1];
    // Appending in order, as a load does, fills chunks instead of halving them.
    if (last !== undefined && this.#before(last.id, slot.id)) {
      if (chunk.length < CHUNK_LIMIT) chunk.push(slot);
      else this.#chunks.splice(at + 1, 0, [slot]);
      return;
    }
    chunk.splice(position(chunk, slot.id, this.#before), 0, slot);
    if (chunk.length > CHUNK_LIMIT) {
      this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_LIMIT >> 1));
    }
  }

  /** Removes the slot of an ID that is there. */
  remove(id: string): void {
    const at = this.#chunkFor(id);
    const chunk = this.#chunks[at];
    if (chunk === undefined) return;
    const index = position(chunk, id, this.#before);
    if (chunk[index]?.id !== id) return;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.#chunks.splice(at, 1);
    this.#size--;
  }

  /** All resources in order. */
  toArray(): RawResource[] {
    const all = new Array<RawResource>(this.#size);
    let at = 0;
    for (const chunk of this.#chunks) {
      for (const slot of chunk) all[at++] = slot.resource;
    }
    return all;
  }
}

/** The index of the first slot that is not before `id`. */
function position(chunk: readonly Slot[], id: string, before: Before): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const slot = chunk[middle];
    if (slot !== undefined && before(slot.id, id)) low = middle + 1;
    else high = middle;
  }
  return low;
}
