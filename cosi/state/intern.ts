// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps equal strings once: namespaces, types and owners occur in every resource.
 *
 * @module
 */

import type { Intern } from "./resource_wire.ts";

/** Strings beyond this many are not kept: what strangers send must not fill the memory. */
const LIMIT = 10_000;

/** Creates a function that returns one and the same string for equal ones. */
export function createIntern(): Intern {
  const known = new Map<string, string>();
  return (text) => {
    const same = known.get(text);
    if (same !== undefined) return same;
    if (known.size < LIMIT) known.set(text, text);
    return text;
  };
}
