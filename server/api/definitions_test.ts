// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { openState } from "../../cosi/state/core.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { NAMESPACES } from "../../resources/namespaces.ts";
import { ResourceDefinition } from "../../resources/system/resource_definition.ts";
import { namesOf, publishDefinitions } from "./definitions.ts";

const TABLE = new URL("../../../shared/facts/wire/resource_definitions.json", import.meta.url);

/** The names in one row of the table of the public client's types. */
interface Row {
  readonly type: string;
  readonly aliases: readonly string[];
  readonly all_aliases: readonly string[];
}

function readTable(): readonly Row[] | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(TABLE)) as Row[];
  } catch {
    return undefined;
  }
}

const table = readTable();

Deno.test({
  name: "namesOf() gives the names that the public client gives (needs ../shared)",
  ignore: table === undefined,
  fn() {
    const types = new Map(CATALOGUE.map((type) => [type.type, type]));
    for (const { type, aliases, all_aliases } of table ?? []) {
      const declared = types.get(type);
      if (declared === undefined) throw new Error(`No type "${type}"`);
      deepStrictEqual(namesOf(declared), { aliases, allAliases: all_aliases }, type);
    }
  },
});

Deno.test("publishDefinitions() gives copied types no name that another type has", async () => {
  const state = await openState({ store: openMemoryStore() });
  try {
    await publishDefinitions(state, CATALOGUE, NAMESPACES);
    const definitions = await state.list(ResourceDefinition);
    const owners = new Map<string, string[]>();
    for (const definition of definitions) {
      const { resourceType, defaultNamespace, allAliases } = definition.decode(
        ResourceDefinition.schema,
      );
      for (const alias of allAliases) {
        owners.set(alias, [...owners.get(alias) ?? [], `${defaultNamespace} ${resourceType}`]);
      }
    }
    const clashes = [...owners].filter(([, types]) =>
      types.length > 1 && types.some((type) => type.startsWith("talos-mirror ")) &&
      types.some((type) => !type.startsWith("talos-mirror "))
    );
    deepStrictEqual(clashes, []);
    // A second start finds nothing to change.
    const before = definitions.map(({ metadata }) => metadata.version);
    await publishDefinitions(state, CATALOGUE, NAMESPACES);
    const after = await state.list(ResourceDefinition);
    deepStrictEqual(after.map(({ metadata }) => metadata.version), before);
  } finally {
    await state.close();
  }
});
