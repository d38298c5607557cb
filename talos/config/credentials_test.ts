// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { parse } from "yaml";
import { writeKubeconfig } from "./kubeconfig.ts";
import { generateKey, keyFromPem, keyToPem } from "./keys.ts";
import { decodePem, encodePem, pemFromBase64, toTlsKeyPem } from "./pem.ts";
import { parseTalosconfig, writeTalosconfig } from "./talosconfig.ts";

const CLIENT = {
  crt: encodePem("CERTIFICATE", new Uint8Array([1])),
  key: encodePem("X", new Uint8Array([2])),
};

Deno.test("parseTalosconfig() reads what writeTalosconfig() wrote", () => {
  const config = {
    context: "alpha",
    contexts: new Map([
      ["alpha", { endpoints: ["10.0.0.1"], nodes: ["10.0.0.2"], ca: CLIENT.crt, client: CLIENT }],
      ["omni", { endpoints: ["https://x"], identity: "a@example.org", cluster: "c" }],
    ]),
  };
  assert.deepEqual(parseTalosconfig(writeTalosconfig(config)), config);
});

Deno.test("parseTalosconfig() counts an old target as an endpoint", () => {
  const { contexts } = parseTalosconfig("context: a\ncontexts:\n  a:\n    target: 10.0.0.1\n");
  assert.deepEqual(contexts.get("a"), { endpoints: ["10.0.0.1"] });
});

Deno.test("writeKubeconfig() selects its one context", () => {
  const config = parse(writeKubeconfig({
    clusterName: "alpha",
    server: "https://x:6443",
    ca: CLIENT.crt,
    user: { kind: "certificate", client: CLIENT },
  }));
  assert.equal(config["current-context"], "admin@alpha");
  assert.equal(config.clusters[0].cluster.server, "https://x:6443");
  assert.equal(pemFromBase64(config.users[0].user["client-key-data"]), CLIENT.key);
});

Deno.test("writeKubeconfig() lets kubectl ask an issuer", () => {
  const config = parse(writeKubeconfig({
    clusterName: "alpha",
    server: "https://x",
    user: { kind: "oidc", issuerUrl: "https://x/oidc" },
  }));
  assert.ok(config.users[0].user.exec.args.includes("--oidc-extra-scope=cluster:alpha"));
});

for (
  const [kind, label] of [["ed25519", "ED25519 PRIVATE KEY"], [
    "ecdsa-p256",
    "EC PRIVATE KEY",
  ]] as const
) {
  Deno.test(`keyToPem() writes ${kind} under Talos's header, and keyFromPem() reads it`, async () => {
    const key = await generateKey(kind);
    const pem = await keyToPem(key);
    assert.equal(decodePem(pem)[0]?.label, label);
    assert.ok(pem.endsWith("\n"));
    const again = await keyFromPem(pem);
    assert.equal(again.kind, kind);
    assert.equal(await keyToPem(again), pem);
    assert.equal(await keyToPem(await keyFromPem(toTlsKeyPem(pem))), pem);
  });
}

Deno.test("keyFromPem() refuses what is no key without repeating it", async () => {
  await assert.rejects(keyFromPem(CLIENT.crt), { message: /"CERTIFICATE" is no key/ });
  await assert.rejects(keyFromPem("hush"), { message: /holds no block/ });
});
