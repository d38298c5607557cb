// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * All kinds of a state, by namespace and type.
 *
 * @module
 */

import type { Kind } from "../resource.ts";
import type { HistoryLimits } from "./history.ts";
import { KindTable } from "./kind_table.ts";

/** The tables of all kinds that anybody has written to or watched. */
export class Tables {
  readonly #isEphemeral: (type: string) => boolean;
  readonly #limits: HistoryLimits;
  readonly #byNamespace = new Map<string, Map<string, KindTable>>();

  constructor(isEphemeral: (type: string) => boolean, limits: HistoryLimits) {
    this.#isEphemeral = isEphemeral;
    this.#limits = limits;
  }

  /** The table of a kind, `undefined` when nobody has written or watched it. */
  find({ namespace, type }: Kind): KindTable | undefined {
    return this.#byNamespace.get(namespace)?.get(type);
  }

  /**
   * The table of a kind, made when it is not there.
   *
   * @param lastRevision The revision of the kind's last change before this process.
   */
  obtain({ namespace, type }: Kind, lastRevision = 0): KindTable {
    let byType = this.#byNamespace.get(namespace);
    if (byType === undefined) this.#byNamespace.set(namespace, byType = new Map());
    let table = byType.get(type);
    if (table === undefined) {
      const [ephemeral, limits] = [this.#isEphemeral(type), this.#limits];
      const onUnused = (unused: KindTable): void => this.#drop(unused);
      table = new KindTable({ namespace, type, ephemeral, limits, lastRevision, onUnused });
      byType.set(type, table);
    }
    return table;
  }

  /** Forgets a kind: whoever watches kinds at random must not fill the memory. */
  #drop(unused: KindTable): void {
    const { namespace, type } = unused;
    const byType = this.#byNamespace.get(namespace);
    if (byType?.get(type) !== unused || unused.size > 0 || unused.writers > 0) return;
    byType.delete(type);
    if (byType.size === 0) this.#byNamespace.delete(namespace);
  }

  /** All tables. */
  *all(): Iterable<KindTable> {
    for (const byType of this.#byNamespace.values()) yield* byType.values();
  }

  /** The number of resources by namespace. */
  counts(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { namespace, size } of this.all()) {
      counts.set(namespace, (counts.get(namespace) ?? 0) + size);
    }
    return counts;
  }
}
