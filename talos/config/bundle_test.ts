// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import {
  type Bundle,
  bundleFromJson,
  bundleFromYaml,
  bundleToJson,
  bundleToYaml,
  generateBundle,
} from "./bundle.ts";
import { parseContract } from "./contract.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

function generate(version: string): Promise<Bundle> {
  return generateBundle({ contract: parseContract(version), nowMs: NOW_MS });
}

Deno.test("generateBundle() picks the encryption key of the contract", async () => {
  const [old, young] = await Promise.all([generate("v1.2"), generate("v1.6")]);
  assert.equal(old.secrets.secretboxEncryptionSecret, undefined);
  assert.equal(young.secrets.aescbcEncryptionSecret, undefined);
  assert.equal(Uint8Array.fromBase64(old.secrets.aescbcEncryptionSecret ?? "").length, 32);
  assert.equal(Uint8Array.fromBase64(young.secrets.secretboxEncryptionSecret ?? "").length, 32);
});

Deno.test("generateBundle() makes tokens in the form of kubeadm", async () => {
  const bundle = await generate("v1.6");
  assert.match(bundle.secrets.bootstrapToken, /^[0-9a-z]{6}\.[0-9a-z]{16}$/);
  assert.match(bundle.trustdInfo.token, /^[0-9a-z]{6}\.[0-9a-z]{16}$/);
});

Deno.test("bundleFromYaml() reads what bundleToYaml() wrote", async () => {
  const bundle = await generate("v1.5");
  assert.deepEqual(bundleFromYaml(bundleToYaml(bundle)), bundle);
});

Deno.test("bundleFromJson() reads what bundleToJson() wrote", async () => {
  const bundle = await generate("v1.5");
  assert.deepEqual(bundleFromJson(bundleToJson(bundle)), bundle);
});

Deno.test({
  name: `bundleToYaml() gives the golden bundles back${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    for (const name of ["c12", "c16", "c113", "c114"]) {
      const text = readGolden(`talos-cases/bundles/${name}.yaml`);
      assert.equal(bundleToYaml(bundleFromYaml(text)), text);
    }
  },
});

Deno.test({
  name: `bundleFromYaml() names everything that is wrong with the golden bundle${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    assert.doesNotThrow(() => bundleFromYaml(readGolden("talos/secrets/secrets.yaml")));
    assert.throws(() => bundleFromYaml(readGolden("talos/secrets/invalid-secrets.yaml")), {
      message: "6 errors occurred:\n" +
        "\t* cluster.secret is required\n" +
        "\t* one of [secrets.secretboxencryptionsecret, secrets.aescbcencryptionsecret] is required\n" +
        "\t* trustdinfo is required\n" +
        "\t* certs.etcd is invalid: failed to parse PEM block\n" +
        "\t* certs.k8saggregator is required\n" +
        '\t* certs.os is invalid: unsupported key type: "CERTIFICATE"\n\n',
    });
  },
});

Deno.test("bundleFromJson() refuses what is no bundle without repeating it", () => {
  assert.throws(() => bundleFromJson("hush"), { message: "Cannot read secrets bundle: not JSON" });
  assert.throws(() => bundleFromJson("{}"), { message: /cluster is required/ });
});
