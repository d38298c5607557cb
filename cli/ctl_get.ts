// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl get`, `list`, `watch` and `api-resources`.
 *
 * @module
 */

import type { RawResource } from "../cosi/state/raw_resource.ts";
import type { Selection, State, StateEvent } from "../cosi/state/state.ts";
import { type ConnectOptions, withState } from "./ctl_connect.ts";
import { untilInterrupted } from "./ctl_signal.ts";
import { listDefinitions, resolveType, type TypeDefinition } from "./ctl_types.ts";
import { readSelector } from "./ctl_usage.ts";
import { usageError } from "./usage.ts";
import { createPrinter, type Format, type Shown } from "./output.ts";
import { createTable } from "./output_table.ts";
import { isFancy, writeOutput } from "./output_write.ts";

/** Options of the commands that show resources. */
interface GetOptions extends ConnectOptions {
  readonly namespace?: string;
  readonly output: Format;
  readonly selector?: string;
  readonly watch?: boolean;
}

/** Shows resources of a type: those with the given IDs, or all that the selector leaves. */
export async function runGet(
  word: string,
  ids: readonly string[],
  parsed: object,
): Promise<void> {
  const options = parsed as GetOptions;
  const { selector } = options;
  if (selector !== undefined && ids.length > 0) {
    throw usageError("a selector and IDs exclude each other");
  }
  if (options.watch === true && ids.length > 1) {
    throw usageError("only one ID, or all resources of a type, can be watched");
  }
  const selection = selector === undefined ? {} : { labelQueries: [readSelector(selector)] };
  await withState(options, async (state) => {
    const definition = await resolveType(state, word);
    const namespace = options.namespace ?? definition.namespace;
    const target = { definition, namespace, ids, selection };
    if (options.watch === true) await watch(state, target, options);
    else await show(state, target, options);
  });
}

/** What a command is about. */
interface Target {
  readonly definition: TypeDefinition;
  readonly namespace: string;
  readonly ids: readonly string[];
  readonly selection: Selection;
}

async function show(state: State, target: Target, { output }: GetOptions): Promise<void> {
  const { definition, namespace, ids, selection } = target;
  const { type } = definition;
  const resources: readonly RawResource[] = ids.length > 0
    ? await Promise.all(ids.map((id) => state.get({ namespace, type, id })))
    : await state.list({ namespace, type }, selection);
  const printer = createPrinter(output, definition, {
    watch: false,
    single: ids.length === 1,
    bold: isFancy(),
  });
  writeOutput(printer.print(resources.map((resource) => ({ resource })), true));
  if (resources.length === 0 && output === "table") {
    console.error(`no ${type} in namespace ${namespace}`);
  }
}

async function watch(state: State, target: Target, { output }: GetOptions): Promise<void> {
  const { definition, namespace, ids: [id], selection } = target;
  const { type } = definition;
  const printer = createPrinter(output, definition, {
    watch: true,
    single: false,
    bold: isFancy(),
  });
  await untilInterrupted(async (signal) => {
    const batches = id === undefined
      ? await state.watchKind({ namespace, type }, {
        ...selection,
        bootstrapContents: true,
        signal,
      })
      : await state.watch({ namespace, type, id }, { signal });
    for await (const batch of batches) {
      const shown = batch.flatMap(toShown);
      if (shown.length > 0) writeOutput(printer.print(shown, false));
    }
  });
}

function toShown({ type, resource, error }: StateEvent): readonly Shown[] {
  if (type === "errored") throw new Error(`The watch ended: ${error ?? "no reason given"}`);
  // These two carry no resource; the first one of an absent resource is a tombstone.
  if (type === "bootstrapped" || type === "noop") return [];
  return [{ resource, event: type }];
}

/** Lists the types of the server. */
export async function runTypes(parsed: object): Promise<void> {
  const options = parsed as ConnectOptions & { readonly output: "table" | "name" };
  const definitions = await withState(options, (state) => listDefinitions(state));
  if (options.output === "name") {
    return writeOutput(definitions.map(({ type }) => `${type}\n`).join(""));
  }
  const table = createTable(["type", "singular", "namespace", "aliases"], { bold: isFancy() });
  writeOutput(table.render(definitions.map(({ type, displayType, namespace, aliases }) => [
    type,
    displayType,
    namespace,
    // Those with a dot are the full name cut short, which every type has.
    aliases.filter((alias) => !alias.includes(".")).join(","),
  ])));
}
