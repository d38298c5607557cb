// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Bookmarks: the points from which a watch can go on.
 *
 * A bookmark names an epoch, the time between one opening of the state and the next, and a revision.
 * The store keeps the epochs and the revisions at which they ended. So a bookmark of an earlier
 * process is understood, and one from a history that this store does not hold, such as after a
 * restored copy, is refused: the revision it names lies beyond the end of its epoch here.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/** Bytes of a bookmark: 8 of the epoch's cookie, 8 of the revision, big-endian. */
const BOOKMARK_SIZE = 16;

/** How many epochs are remembered; a bookmark of an older one is refused. */
export const EPOCHS_KEPT = 64;

/** The time from one opening of the state to the next. */
export interface Epoch {
  /** Random, to tell the epochs of all stores apart. */
  readonly cookie: bigint;
  /** The last revision before it. */
  readonly startRevision: number;
}

/** Draws the cookie of a new epoch. */
export function newCookie(): bigint {
  const [cookie = 0n] = crypto.getRandomValues(new BigUint64Array(1));
  return cookie;
}

/** Writes a bookmark. */
export function encodeBookmark(cookie: bigint, revision: number): Uint8Array {
  const bytes = new Uint8Array(BOOKMARK_SIZE);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, cookie);
  view.setBigUint64(8, BigInt(revision));
  return bytes;
}

function refused(reason: string): CodedError {
  return new CodedError(
    "failedPrecondition",
    `Cannot resume the watch: ${reason}; start a new watch without a bookmark`,
  );
}

/**
 * The revision that a bookmark names.
 *
 * @param epochs All epochs known, oldest first; the last one is the present one.
 * @param survives Whether the kind's resources survive a restart.
 */
export function resolveBookmark(
  bookmark: Uint8Array,
  epochs: readonly Epoch[],
  survives: boolean,
): number {
  if (bookmark.length !== BOOKMARK_SIZE) {
    throw refused(`a bookmark has ${BOOKMARK_SIZE} bytes, this one ${bookmark.length}`);
  }
  const view = new DataView(bookmark.buffer, bookmark.byteOffset, bookmark.byteLength);
  const cookie = view.getBigUint64(0);
  const revision = Number(view.getBigUint64(8));
  const index = epochs.findIndex((epoch) => epoch.cookie === cookie);
  if (index < 0) throw refused("the bookmark is not of this state");
  const next = epochs[index + 1];
  if (next === undefined) return revision;
  if (!survives) throw refused("the server has restarted, and this type lives in memory only");
  if (revision > next.startRevision) {
    throw refused("the bookmark is of a history that this state does not hold");
  }
  return revision;
}

/** The refusal of a bookmark whose events are not kept any more, or do not exist yet. */
export function bookmarkOutOfHistory(): CodedError {
  return refused("the events after the bookmark are not kept any more");
}
