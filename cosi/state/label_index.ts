// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Finds the resources of a kind by label without looking at the others.
 *
 * @module
 */

import { StringTable } from "../../base/string_table.ts";
import type { LabelQuery, LabelTerm } from "./label_query.ts";
import type { Slot } from "./sorted_slots.ts";

/** Most values of an identifying label belong to one resource: a set for each would cost more. */
type Holders = Slot | Set<Slot>;

/** Slots by label key and value. */
export class LabelIndex {
  readonly #byKey = new Map<string, StringTable<Holders>>();

  /** Adds a slot under its labels. */
  add(slot: Slot, labels: Readonly<Record<string, string>>): void {
    for (const key in labels) {
      const value = labels[key] ?? "";
      let byValue = this.#byKey.get(key);
      if (byValue === undefined) this.#byKey.set(key, byValue = new StringTable());
      const holders = byValue.get(value);
      if (holders === undefined) byValue.set(value, slot);
      else if (holders instanceof Set) holders.add(slot);
      else if (holders !== slot) byValue.set(value, new Set([holders, slot]));
    }
  }

  /** Removes a slot from under its labels. */
  remove(slot: Slot, labels: Readonly<Record<string, string>>): void {
    for (const key in labels) {
      const value = labels[key] ?? "";
      const byValue = this.#byKey.get(key);
      const holders = byValue?.get(value);
      if (byValue === undefined || holders === undefined) continue;
      if (holders instanceof Set) {
        holders.delete(slot);
        if (holders.size > 0) continue;
      }
      byValue.delete(value);
      if (byValue.size === 0) this.#byKey.delete(key);
    }
  }

  /**
   * The slots that may match the queries, or `undefined` when only a look at all of them can tell.
   * Every match is among them; not each of them matches.
   */
  candidates(queries: readonly LabelQuery[]): Iterable<Slot> | undefined {
    const found: Set<Slot>[] = [];
    for (const { terms } of queries) {
      const slots = this.#fewest(terms);
      if (slots === undefined) return undefined;
      found.push(slots);
    }
    if (found.length === 0) return undefined;
    if (found.length === 1) return found[0];
    return new Set(found.flatMap((slots) => [...slots]));
  }

  /** The smallest set of slots that one of the terms leaves. */
  #fewest(terms: readonly LabelTerm[]): Set<Slot> | undefined {
    let best: Holders[] | undefined;
    let bestSize = Infinity;
    for (const term of terms) {
      const holders = this.#holders(term);
      if (holders === undefined) continue;
      const size = holders.reduce((sum, some) => sum + (some instanceof Set ? some.size : 1), 0);
      if (size < bestSize) [best, bestSize] = [holders, size];
    }
    if (best === undefined) return undefined;
    const [only] = best;
    if (best.length === 1 && only instanceof Set) return only;
    const slots = new Set<Slot>();
    for (const holders of best) {
      if (holders instanceof Set) { for (const slot of holders) slots.add(slot); }
      else slots.add(holders);
    }
    return slots;
  }

  #holders(term: LabelTerm): Holders[] | undefined {
    if (term.invert) return undefined;
    const byValue = this.#byKey.get(term.key);
    switch (term.op) {
      case "exists":
        return byValue === undefined ? [] : [...byValue.values()];
      case "equal":
      case "in": {
        const values = term.op === "in" ? term.values : term.values.slice(0, 1);
        return values.flatMap((value) => byValue?.get(value) ?? []);
      }
      default:
        return undefined;
    }
  }
}
