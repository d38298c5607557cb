// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Where in the history of a kind a watch begins.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { bookmarkOutOfHistory, type Epoch, resolveBookmark } from "./bookmark.ts";
import type { KindTable } from "./kind_table.ts";
import type { OwnedWatch, WatchKindOptions } from "./state.ts";

/** What a position depends on. */
export interface WatchStart {
  readonly table: KindTable;
  /** The only ID to watch. */
  readonly id: string | undefined;
  readonly options: OwnedWatch<WatchKindOptions>;
  readonly epochs: readonly Epoch[];
  /** The revision of the state. */
  readonly revision: number;
}

/**
 * The position at which a watch with a tail or a bookmark begins, `undefined` for one without.
 *
 * Throws `invalidArgument` for options that exclude each other, `failedPrecondition` for a bookmark
 * from which the watch cannot go on without a gap.
 */
export function startPosition(start: WatchStart): number | undefined {
  const { table: { history, ephemeral }, id, options } = start;
  const { tailEvents = 0, startFromBookmark, bootstrapContents } = options;
  const hasTail = tailEvents > 0;
  if (bootstrapContents && (hasTail || startFromBookmark !== undefined)) {
    throw refused("a bootstrap goes neither with tail events nor with a bookmark");
  }
  if (startFromBookmark !== undefined) {
    if (hasTail) throw refused("tail events do not go with a bookmark");
    const revision = resolveBookmark(startFromBookmark, start.epochs, !ephemeral);
    const position = history.positionAfter(revision);
    if (position === undefined || revision > start.revision) throw bookmarkOutOfHistory();
    return position;
  }
  if (!hasTail) return undefined;
  if (id === undefined) return Math.max(history.first, history.head - tailEvents);
  let position = history.head;
  for (let left = tailEvents; left > 0 && position > history.first;) {
    position--;
    if (history.at(position)?.resource.metadata.id === id) left--;
  }
  return position;
}

function refused(reason: string): CodedError {
  return new CodedError("invalidArgument", `Cannot watch: ${reason}`);
}
