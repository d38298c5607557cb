// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { bundleFromYaml } from "./bundle.ts";
import { parseContract } from "./contract.ts";
import { generateConfig } from "./generate.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

for (let minor = 3; minor <= 15; minor++) {
  for (const machineType of ["controlplane", "worker"] as const) {
    Deno.test({
      name: `generateConfig() gives the golden ${machineType} of contract 1.${minor}${GOLDEN_NOTE}`,
      ignore: !hasGoldenData,
      fn() {
        const config = generateConfig({
          bundle: bundleFromYaml(readGolden("talos/stability/secrets.yaml")),
          clusterName: "base",
          endpoint: "https://base:6443",
          kubernetesVersion: "1.28.0",
          contract: parseContract(`v1.${minor}`),
          machineType,
        });
        assert.equal(config, readGolden(`talos/stability/v1.${minor}/base-${machineType}.yaml`));
      },
    });
  }
}
