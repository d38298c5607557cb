// SPDX-License-Identifier: AGPL-3.0-or-later

import { type DescMessage, equals, fromBinary, type Message } from "@bufbuild/protobuf";
import { strictEqual, throws } from "node:assert/strict";
import { parse } from "yaml";
import { CATALOGUE } from "./catalogue.ts";
import { Cluster } from "./cluster/cluster.ts";
import { MachineSet } from "./cluster/machine_set.ts";
import { readYamlSpec } from "./yaml_read.ts";
import { encodeYamlSpec } from "./yaml_spec.ts";

const SAMPLES = new URL("../../shared/facts/wire/yaml_samples/", import.meta.url);

/** One type's specs and their text. */
interface Sample {
  readonly type: string;
  readonly variants: readonly { readonly name: string; readonly proto_hex: string }[];
}

function readSamples(): readonly Sample[] {
  try {
    return [...Deno.readDirSync(SAMPLES)].map(({ name }) =>
      JSON.parse(Deno.readTextFileSync(new URL(name, SAMPLES))) as Sample
    );
  } catch {
    return [];
  }
}

/** Messages whose text does not show all of their fields, or not under their names. */
const ONE_WAY = new Set([
  "specs.ClusterMachineSpec",
  "specs.ClusterMachineConfigPatchesSpec",
  "cosi.resource.meta.ResourceDefinitionSpec",
]);

function decodeHex(schema: DescMessage, hex: string): Message {
  return fromBinary(schema, Uint8Array.fromHex(hex));
}

function roundTrip(schema: DescMessage, message: Message): Message {
  return readYamlSpec(schema, parse(encodeYamlSpec(schema, message), { intAsBigInt: true }));
}

const samples = readSamples();

Deno.test({
  name: "readYamlSpec() reads back what encodeYamlSpec() wrote (needs ../shared)",
  ignore: samples.length === 0,
  fn() {
    const types = new Map(CATALOGUE.map((type) => [type.type, type]));
    for (const { type, variants } of samples) {
      const schema = types.get(type)?.schema;
      if (schema === undefined || ONE_WAY.has(schema.typeName)) continue;
      for (const { name, proto_hex } of variants) {
        // The edges hold line breaks of YAML 1.1, which readers of 1.2 take for plain characters.
        if (name === "compressed" || name.startsWith("edge")) continue;
        const message = decodeHex(schema, proto_hex);
        const again = roundTrip(schema, message);
        strictEqual(equals(schema, again, message), true, `${type} ${name}`);
      }
    }
  },
});

Deno.test("readYamlSpec() reads keys in every spelling, and enums by name", () => {
  for (const key of ["kubernetesversion", "kubernetes_version", "kubernetesVersion"]) {
    strictEqual(readYamlSpec(Cluster.schema, { [key]: "1.34.1" }).kubernetesVersion, "1.34.1");
  }
  const set = readYamlSpec(MachineSet.schema, { updateStrategy: "rolling" });
  strictEqual(set.updateStrategy, 1);
});

Deno.test("readYamlSpec() names every field that it cannot read", () => {
  throws(
    () => readYamlSpec(Cluster.schema, { talosVersion: 1.1, colour: "red", features: [] }),
    {
      code: "invalidArgument",
      message: /talosVersion must be a text.*quotes; colour is not a field.*features must be a map/,
    },
  );
});
