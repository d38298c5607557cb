// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { type Bundle, generateBundle } from "./bundle.ts";
import { encodeConfig, loadConfig } from "./config_load.ts";
import { contractOf } from "./contract.ts";
import { diffTexts } from "./diff.ts";
import { generateConfig } from "./generate.ts";
import { pemToBase64 } from "./pem.ts";
import { applyPatches } from "./patch.ts";
import { redactConfig } from "./redact.ts";
import { validateConfig } from "./validate.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

/** Configurations of every contract and machine type, from one bundle. */
async function allConfigs(): Promise<{ bundle: Bundle; configs: readonly string[] }> {
  const bundle = await generateBundle({ contract: contractOf(1, 6), nowMs: NOW_MS });
  const configs: string[] = [];
  for (let minor = 0; minor <= 15; minor++) {
    for (const machineType of ["controlplane", "worker"] as const) {
      configs.push(generateConfig({
        bundle,
        clusterName: "alpha",
        endpoint: "https://cp.example.org:6443",
        kubernetesVersion: "1.33.1",
        contract: contractOf(1, minor),
        machineType,
        options: {
          installDisk: "/dev/sda",
          installImage: "example.org/installer:v1",
          sysctls: { "net.core.somaxconn": "1", 8: "2", 10: "3" },
          registryMirrors: { "ghcr.io": ["https://m.example.org"] },
          registryCACerts: { "m.example.org": bundle.certs.os.crt },
        },
      }));
    }
  }
  return { bundle, configs };
}

const { bundle, configs } = await allConfigs();

Deno.test("generating, loading and printing gives the same text", () => {
  for (const config of configs) assert.equal(encodeConfig(loadConfig(config)), config);
});

Deno.test("generated configurations are accepted, and so are their redacted forms", () => {
  for (const config of configs) {
    assert.deepEqual(validateConfig(config, { mode: "metal" }), []);
    assert.doesNotThrow(() => loadConfig(redactConfig(config)));
  }
});

Deno.test("an empty patch changes nothing", () => {
  const patches = ["machine: {}\n", "cluster: {}\n", "machine:\ncluster:\n"];
  for (const config of configs) assert.equal(applyPatches(config, patches), config);
});

const DISJOINT: readonly string[] = [
  "machine: {nodeLabels: {a: b}}\n",
  "machine: {sysctls: {c: d}}\n",
  "machine: {certSANs: [x.example.org]}\n",
  "cluster: {apiServer: {extraArgs: {e: f}}}\n",
  "cluster: {network: {podSubnets: [10.42.0.0/16]}}\n",
  "machine: {network: {interfaces: [{interface: eth0, mtu: 9000}]}}\n",
];

Deno.test("patches that touch different things commute", () => {
  for (const config of configs) {
    for (const [i, first] of DISJOINT.entries()) {
      for (const second of DISJOINT.slice(i + 1)) {
        assert.equal(
          applyPatches(config, [first, second]),
          applyPatches(config, [second, first]),
        );
      }
    }
  }
});

Deno.test("a patch that is applied twice, without lists, is as one applied once", () => {
  const patch = "machine: {nodeLabels: {a: b}, kubelet: {extraArgs: {x: z}}}\n";
  for (const config of configs) {
    assert.equal(applyPatches(config, [patch, patch]), applyPatches(config, [patch]));
  }
});

/** Every secret text of a bundle, in each form in which a configuration could hold it. */
function secretsOf({ cluster, secrets, trustdInfo, certs }: Bundle): string[] {
  const keys = [certs.etcd, certs.k8s, certs.k8sAggregator, certs.k8sServiceAccount, certs.os]
    .map(({ key }) => key);
  return [
    cluster.secret,
    secrets.bootstrapToken,
    secrets.aescbcEncryptionSecret ?? "",
    secrets.secretboxEncryptionSecret ?? "",
    trustdInfo.token,
    ...keys.map(pemToBase64),
    ...keys.flatMap((key) => key.split("\n").filter((line) => !line.startsWith("-----"))),
  ].filter((secret) => secret !== "");
}

Deno.test("redaction leaves no secret of the bundle anywhere", () => {
  for (const config of configs) {
    const redacted = redactConfig(config);
    for (const secret of secretsOf(bundle)) assert.ok(!redacted.includes(secret), redacted);
  }
});

Deno.test("redacting twice is as redacting once", () => {
  for (const config of configs) {
    const redacted = redactConfig(config);
    assert.equal(redactConfig(redacted), redacted);
  }
});

Deno.test("a configuration does not differ from itself", () => {
  for (const config of configs) assert.equal(diffTexts(config, config), "");
});
