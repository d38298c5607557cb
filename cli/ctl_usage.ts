// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Arguments that several commands of `batuta ctl` read alike.
 *
 * @module
 */

import { formatError } from "../base/errors.ts";
import type { LabelQuery } from "../cosi/state/label_query.ts";
import { parseSelector } from "../cosi/state/label_selector.ts";
import { usageError } from "./usage.ts";

/** Reads a label selector of the command line. */
export function readSelector(selector: string): LabelQuery {
  try {
    return parseSelector(selector);
  } catch (error) {
    throw usageError(formatError(error));
  }
}
