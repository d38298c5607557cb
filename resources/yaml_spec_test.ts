// SPDX-License-Identifier: AGPL-3.0-or-later

import { create, type DescMessage, fromBinary, type Message } from "@bufbuild/protobuf";
import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { zstdDecompressSync } from "node:zlib";
import { CATALOGUE } from "./catalogue.ts";
import { ClusterStatusMetric } from "./cluster/cluster_status_metric.ts";
import { renderYaml } from "./yaml_layout.ts";
import { compareKeys } from "../base/yaml_keys.ts";
import { nodeStyle, writeFloat } from "../base/yaml_scalar.ts";
import { encodeYamlSpec } from "./yaml_spec.ts";

const WIRE = new URL("../../shared/facts/wire/", import.meta.url);

function readJson(path: string): unknown {
  try {
    return JSON.parse(Deno.readTextFileSync(new URL(path, WIRE)));
  } catch {
    return undefined;
  }
}

/** The expected text of chosen strings, numbers and key orders. */
interface Scalars {
  readonly strings: readonly Readonly<Record<string, string>>[];
  readonly doubles: readonly { readonly bits: string; readonly text: string }[];
  readonly map_key_order: readonly { readonly keys: string[]; readonly order: string[] }[];
}

/** The expected text of one type's specs. */
interface Sample {
  readonly type: string;
  readonly variants: readonly {
    readonly name: string;
    readonly proto_hex: string;
    readonly yaml: string;
  }[];
}

const scalars = readJson("yaml_scalars.json") as Scalars | undefined;
const ignore = scalars === undefined;

function decodeHex(schema: DescMessage, hex: string): Message {
  return fromBinary(schema, Uint8Array.fromHex(hex));
}

function decompress(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(zstdDecompressSync(bytes));
}

function sampleFiles(): string[] {
  return [...Deno.readDirSync(new URL("yaml_samples/", WIRE))].map(({ name }) => name).sort();
}

Deno.test({
  name: "renderYaml() writes strings as the public client does (needs ../shared)",
  ignore,
  fn() {
    for (const row of scalars?.strings ?? []) {
      const text = row.string ?? "";
      const z = { string: "z" };
      const value = { string: text };
      const node = { string: text, style: nodeStyle(text) };
      const single = text.startsWith("\n") || text.startsWith(" ");
      const patch = { string: text, style: single ? "single" as const : nodeStyle(text) };
      deepStrictEqual({
        value: renderYaml({ entries: [["k", value]] }),
        item: renderYaml({ entries: [["k", { items: [value, z] }]] }),
        nested: renderYaml({
          entries: [["k", { items: [{ entries: [["a", { string: "x" }], ["b", value]] }] }]],
        }),
        key: renderYaml({ entries: [["k", { entries: [[text, { string: "v" }]] }]] }),
        patch_item: renderYaml({ entries: [["patches", { items: [patch, z] }]] }),
        kubernetes_version: renderYaml({ entries: [["kubernetes_version", node]] }),
      }, {
        value: row.value,
        item: row.item,
        nested: row.nested,
        key: row.key,
        patch_item: row.patch_item,
        kubernetes_version: row.kubernetes_version,
      }, JSON.stringify(text));
    }
  },
});

Deno.test({
  name: "writeFloat() writes numbers as the public client does (needs ../shared)",
  ignore,
  fn() {
    for (const { bits, text } of scalars?.doubles ?? []) {
      const view = new DataView(new ArrayBuffer(8));
      view.setBigUint64(0, BigInt(`0x${bits}`));
      strictEqual(writeFloat(view.getFloat64(0), 6), text, bits);
    }
  },
});

Deno.test({
  name: "compareKeys() sorts as the public client does (needs ../shared)",
  ignore,
  fn() {
    for (const { keys, order } of scalars?.map_key_order ?? []) {
      deepStrictEqual(keys.toSorted(compareKeys), order);
    }
  },
});

Deno.test("encodeYamlSpec() writes numbers as keys without quotes, by value", () => {
  const spec = create(ClusterStatusMetric.schema, { phases: { "10": 1, "-2": 3, "9": 4 } });
  strictEqual(
    encodeYamlSpec(ClusterStatusMetric.schema, spec),
    "notreadycount: 0\nphases:\n    -2: 3\n    9: 4\n    10: 1\n",
  );
});

Deno.test({
  name: "encodeYamlSpec() equals the samples of every type (needs ../shared)",
  ignore,
  fn() {
    const types = new Map(CATALOGUE.map((type) => [type.type, type]));
    let count = 0;
    for (const file of sampleFiles()) {
      const sample = readJson(`yaml_samples/${file}`) as Sample;
      const schema = types.get(sample.type)?.schema;
      if (schema === undefined) throw new Error(`No type "${sample.type}"`);
      for (const { name, proto_hex, yaml } of sample.variants) {
        const text = encodeYamlSpec(schema, decodeHex(schema, proto_hex), decompress);
        strictEqual(text, yaml, `${sample.type} ${name}`);
        count++;
      }
    }
    strictEqual(count > 400, true, `only ${count} samples`);
  },
});
