// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Brings the rules of user types together with the state.
 *
 * @module
 */

import type { StateCore } from "../../cosi/state/core.ts";
import type { Decompressor } from "../compression/dictionary.ts";
import { listResources, peekResource } from "../typed_state.ts";
import type { ContentChange } from "./policy.ts";
import { REFERENCE_CHECKS, type RuleContext } from "./reference_rules.ts";

/** Creates the check of changes that the policy runs. */
export function createContentChecks(
  state: StateCore,
  { note, decompress }: Decompressor,
): (change: ContentChange) => void {
  const context: RuleContext = {
    note,
    decompress,
    reader: {
      find: (type, id) => peekResource(state, type, id),
      list: (type, labels) => listResources(state, type, labels),
    },
  };
  return (change) => REFERENCE_CHECKS.get(change.metadata.type)?.(change, context);
}
