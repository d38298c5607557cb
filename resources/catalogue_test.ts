// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { CATALOGUE } from "./catalogue.ts";
import { NAMESPACES, TALOS_MIRROR_NAMESPACE } from "./namespaces.ts";

const TABLE = new URL("../../shared/facts/wire/resource_definitions.json", import.meta.url);

/** One row of the table of the public client's types. */
interface Row {
  readonly type: string;
  readonly default_namespace: string;
  readonly display_type: string;
  readonly print_columns: readonly { readonly name: string; readonly json_path: string }[];
  readonly sensitivity: string;
  readonly protobuf_spec: string | null;
}

function readTable(): readonly Row[] | undefined {
  try {
    return JSON.parse(Deno.readTextFileSync(TABLE)) as Row[];
  } catch {
    return undefined;
  }
}

const table = readTable();

Deno.test("CATALOGUE holds no type twice and only published namespaces", () => {
  const types = CATALOGUE.map(({ type }) => type);
  strictEqual(new Set(types).size, types.length);
  const names = new Set(NAMESPACES.map(({ name }) => name));
  deepStrictEqual(CATALOGUE.filter(({ namespace }) => !names.has(namespace)), []);
});

Deno.test({
  name: "CATALOGUE equals the table of the public client's types (needs ../shared)",
  ignore: table === undefined,
  fn() {
    const declared = CATALOGUE
      .filter(({ type, namespace }) =>
        namespace !== TALOS_MIRROR_NAMESPACE && !type.endsWith(".batuta.altlinux.org")
      )
      .map(({ type, namespace, schema, display }) => ({
        type,
        namespace,
        display: display.displayType,
        columns: display.printColumns.map(({ name, jsonPath }) => ({ name, json_path: jsonPath })),
        sensitive: display.sensitive,
        message: schema.typeName === "google.protobuf.Empty" ? null : schema.typeName,
      }))
      .toSorted((left, right) => left.type < right.type ? -1 : 1);
    const wanted = (table ?? []).map((row) => ({
      type: row.type,
      namespace: row.default_namespace,
      display: row.display_type,
      columns: row.print_columns,
      sensitive: row.sensitivity === "sensitive",
      message: row.protobuf_spec,
    })).toSorted((left, right) => left.type < right.type ? -1 : 1);
    deepStrictEqual(declared, wanted);
  },
});
