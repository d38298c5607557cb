// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs every golden case as the command line would run it.
 */

import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { CodedError } from "../../base/errors.ts";
import { parseOperation, runOperation } from "./operation.ts";
import { GOLDEN_NOTE, goldenFolders, hasGoldenData, isGolden, readGolden } from "./testing.ts";

const FOLDER = "talos-cases/";

interface Expectation {
  readonly compare?: "bytes" | "value";
  readonly errorMatch?: "exact" | "refused";
}

for (const folder of hasGoldenData ? goldenFolders(FOLDER) : []) {
  if (!isGolden(`${FOLDER}${folder}/input.json`)) continue;
  Deno.test(`runOperation() gives the golden case ${folder}`, async () => {
    const read = (name: string) => readGolden(`${FOLDER}${folder}/${name}`);
    const text = read("input.json");
    const { compare, errorMatch }: Expectation = JSON.parse(text);
    const { stdout, error } = await run(text, read);
    const has = (name: string) => isGolden(`${FOLDER}${folder}/${name}`);
    if (has("expected_error.txt")) {
      assert.ok(error !== undefined);
      if (errorMatch === "exact") assert.equal(`${error}\n`, read("expected_error.txt"));
    } else assert.equal(error, undefined);
    if (has("expected.yaml")) {
      if (compare === "value") assert.deepEqual(values(stdout), values(read("expected.yaml")));
      else assert.equal(stdout, read("expected.yaml"));
    }
    if (has("expected.diff")) assert.equal(stdout, read("expected.diff"));
    if (has("expected_profile.json")) assert.equal(stdout, read("expected_profile.json"));
    if (has("expected_validation.json") && errorMatch !== "refused") {
      assert.equal(stdout, read("expected_validation.json"));
    }
  });
}

async function run(text: string, read: (name: string) => string) {
  try {
    return await runOperation(parseOperation(text), read);
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { stdout: "", error: error.message };
  }
}

function values(yaml: string): unknown[] {
  const documents = parseAllDocuments(yaml);
  return Array.isArray(documents) ? documents.map((document) => document.toJS()) : [];
}

interface LegacyCase {
  readonly name: string;
  readonly contract: string;
  readonly patch: string;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

const SCHEMATIC = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

Deno.test({
  name: `runOperation() validates the golden legacy patches${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  async fn() {
    const cases: LegacyCase[] = JSON.parse(readGolden(`${FOLDER}cases_legacy_patches.json`));
    for (const { name, contract, patch, errors, warnings } of cases) {
      const isNew = contract === "v1.14";
      const operation = {
        op: "validate",
        bundleFile: isNew ? "c114" : "c113",
        clusterName: "alpha",
        endpoint: "https://[fdae:41e4:649b:9303::1]:10000",
        kubernetesVersion: "1.33.1",
        contract,
        machineType: "controlplane",
        mode: "metal",
        options: {
          installImage: `factory.example.org/metal-installer/${SCHEMATIC}:${contract}.2`,
          installDisk: "/dev/sda",
          kubePrismPort: 7445,
          ...(isNew ? { skipUnattendedInstallConfig: true } : {}),
        },
        patchFiles: ["patch"],
      };
      const { stdout } = await run(
        JSON.stringify(operation),
        (file) => file === "patch" ? patch : readGolden(`${FOLDER}bundles/${file}.yaml`),
      );
      const report: LegacyCase = JSON.parse(stdout);
      assert.deepEqual([report.errors, report.warnings], [errors, warnings], name);
    }
  },
});
