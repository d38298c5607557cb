// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import {
  issueApiServerCertificate,
  issueKubernetesAdminCertificate,
  issueMachineServerCertificate,
  issueTalosClientCertificate,
  signMachineServerRequest,
} from "./certificates.ts";
import { createCa, createRequest, parseCertificate, parseRequest } from "./pki.ts";

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);

Deno.test("issueTalosClientCertificate() holds all roles in one set", async () => {
  const ca = await createCa({ kind: "ed25519", organization: "talos", nowMs: NOW_MS });
  const { crt } = await issueTalosClientCertificate(ca, {
    roles: ["os:admin", "os:reader"],
    nowMs: NOW_MS,
  });
  assert.equal(parseCertificate(crt).subject, "O=os:admin+O=os:reader");
  assert.equal(new X509Certificate(crt).checkIssued(new X509Certificate(ca.crt)), true);
});

Deno.test("signMachineServerRequest() keeps names and drops the organization", async () => {
  const ca = await createCa({ kind: "ed25519", organization: "talos", nowMs: NOW_MS });
  const { csr } = await createRequest({
    kind: "ed25519",
    commonName: "node",
    organizations: ["os:admin"],
    dnsNames: ["node"],
    ipAddresses: ["10.0.0.1", "fdae:41e4:649b:9303::2"],
  });
  const crt = await signMachineServerRequest(ca, await parseRequest(csr), { nowMs: NOW_MS });
  const certificate = new X509Certificate(crt);
  assert.equal(parseCertificate(crt).subject, "CN=node");
  assert.equal(certificate.checkIP("fdae:41e4:649b:9303::2"), "fdae:41e4:649b:9303::2");
  assert.equal(certificate.checkHost("node"), "node");
});

Deno.test("server certificates name the addresses under which they are reached", async () => {
  const [os, k8s] = await Promise.all([
    createCa({ kind: "ed25519", organization: "talos", nowMs: NOW_MS }),
    createCa({ kind: "ecdsa-p256", organization: "kubernetes", nowMs: NOW_MS }),
  ]);
  const names = { ipAddresses: ["fdae:41e4:649b:9303::2"], nowMs: NOW_MS };
  const machine = await issueMachineServerCertificate(os, names);
  const apiServer = await issueApiServerCertificate(k8s, names);
  for (const { crt } of [machine, apiServer]) {
    assert.equal(
      new X509Certificate(crt).checkIP("fdae:41e4:649b:9303::2"),
      "fdae:41e4:649b:9303::2",
    );
  }
});

Deno.test("issueKubernetesAdminCertificate() ends when the lifetime ends", async () => {
  const ca = await createCa({ kind: "ecdsa-p256", organization: "kubernetes", nowMs: NOW_MS });
  const { crt } = await issueKubernetesAdminCertificate(ca, {
    commonName: "omni:admin",
    nowMs: NOW_MS,
    lifetimeMs: 3_600_000,
  });
  const certificate = parseCertificate(crt);
  assert.equal(certificate.subject, "O=system:masters, CN=omni:admin");
  assert.equal(certificate.notBefore.getTime(), NOW_MS - 10_000);
  assert.equal(certificate.notAfter.getTime(), NOW_MS + 3_600_000);
});
