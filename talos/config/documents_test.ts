// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { generateBundle } from "./bundle.ts";
import { contractOf } from "./contract.ts";
import { configFacts, parseDocuments } from "./documents.ts";
import { generateConfig } from "./generate.ts";

const bundle = await generateBundle({ contract: contractOf(1, 6), nowMs: Date.now() });

for (const minor of [2, 9, 12, 14]) {
  for (const machineType of ["controlplane", "worker"] as const) {
    Deno.test(`configFacts() finds what a ${machineType} of contract 1.${minor} says`, () => {
      const facts = configFacts(parseDocuments(generateConfig({
        bundle,
        clusterName: "alpha",
        endpoint: "https://[fdae:41e4:649b:9303::1]:10000",
        kubernetesVersion: "1.33.1",
        contract: contractOf(1, minor),
        machineType,
        options: { additionalSubjectAltNames: ["a.example.org"], localAPIServerPort: 7443 },
      })));
      const isControlPlane = machineType === "controlplane";
      const { certs, cluster, secrets, trustdInfo } = bundle;
      assert.equal(facts.machineType, machineType);
      assert.equal(facts.machineToken, trustdInfo.token);
      assert.equal(facts.bootstrapToken, secrets.bootstrapToken);
      assert.equal(facts.clusterId, cluster.id);
      assert.equal(facts.clusterSecret, cluster.secret);
      assert.equal(facts.endpoint, "https://[fdae:41e4:649b:9303::1]:10000");
      assert.equal(facts.osCa?.crt, certs.os.crt);
      assert.equal(facts.osCa?.key, isControlPlane ? certs.os.key : undefined);
      assert.equal(facts.kubernetesCa?.crt, certs.k8s.crt);
      assert.equal(facts.etcdCa?.key, isControlPlane ? certs.etcd.key : undefined);
      assert.equal(
        facts.serviceAccountKey,
        isControlPlane ? certs.k8sServiceAccount.key : undefined,
      );
      assert.equal(facts.kubernetesVersion, "1.33.1");
      assert.equal(facts.apiServerPort, isControlPlane ? 7443 : 6443);
      assert.deepEqual(facts.certSans, ["a.example.org"]);
    });
  }
}

Deno.test("configFacts() reads SideroLink documents without a main one", () => {
  const facts = configFacts(parseDocuments(
    "apiVersion: v1alpha1\nkind: SideroLinkConfig\napiUrl: https://x?jointoken=a\nuniqueToken: t\n" +
      "---\napiVersion: v1alpha1\nkind: EventSinkConfig\nendpoint: '[::1]:8091'\n",
  ));
  assert.equal(facts.machineType, undefined);
  assert.equal(facts.sideroLinkApiUrl, "https://x?jointoken=a");
  assert.equal(facts.sideroLinkUniqueToken, "t");
  assert.equal(facts.eventSinkEndpoint, "[::1]:8091");
});
