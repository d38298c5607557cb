// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl explain`.
 *
 * @module
 */

import { type ConnectOptions, withState } from "./ctl_connect.ts";
import { resolveType } from "./ctl_types.ts";
import { explain, renderExplanation } from "./explain.ts";
import { writeOutput } from "./output_write.ts";

/** Options of the command. */
interface ExplainOptions extends ConnectOptions {
  readonly namespace?: string;
}

/** Prints why a resource is not where it should be, and what stands in the way. */
export async function runExplain(word: string, id: string, parsed: object): Promise<void> {
  const options = parsed as ExplainOptions;
  await withState(options, async (state) => {
    const { type, namespace } = await resolveType(state, word);
    const ref = { namespace: options.namespace ?? namespace, type, id };
    writeOutput(renderExplanation(await explain(state, ref, Date.now())));
  });
}
