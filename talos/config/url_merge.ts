// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Merging URLs as Talos does: part by part, so that a path on the left survives a right side
 * without one.
 *
 * @module
 */

const URL_PARTS = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is;

/** Merges two URLs; parts that are empty on the right keep the left one. */
export function mergeUrls(left: string, right: string): string {
  if (left === "") return right;
  const [old, young] = [splitUrl(left), splitUrl(right)];
  const [scheme, authority, path, query, fragment] = old.map((part, i) => young[i] || part);
  return (scheme ? `${scheme}:` : "") + (authority ? `//${authority}` : "") + (path ?? "") +
    (query ? `?${query}` : "") + (fragment ? `#${fragment}` : "");
}

function splitUrl(url: string): readonly string[] {
  const match = URL_PARTS.exec(url);
  return [1, 2, 3, 4, 5].map((part) => match?.[part] ?? "");
}
