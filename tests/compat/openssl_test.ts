// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Has OpenSSL judge the certificates of a cluster: chains verify, and what a certificate says is, but
 * for names, numbers and times, what the golden one says.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Bundle, bundleFromYaml, generateBundle } from "../../talos/config/bundle.ts";
import {
  issueApiServerCertificate,
  issueKubernetesAdminCertificate,
  issueMachineServerCertificate,
  issueTalosClientCertificate,
  signMachineServerRequest,
} from "../../talos/config/certificates.ts";
import { parseContract } from "../../talos/config/contract.ts";
import { toTlsKeyPem } from "../../talos/config/pem.ts";
import { createRequest, parseRequest } from "../../talos/config/pki.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "../../talos/config/testing.ts";

async function openssl(...args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command("openssl", { args: [...args] })
    .output();
  const text = new TextDecoder().decode(stdout);
  assert.ok(success, `openssl ${args.join(" ")}: ${text}${new TextDecoder().decode(stderr)}`);
  return text;
}

async function hasOpenssl(): Promise<boolean> {
  try {
    await openssl("version");
    return true;
  } catch {
    return false;
  }
}

const isMissing = !await hasOpenssl();
const NOTE = isMissing ? " (skipped: OpenSSL is not installed)" : "";

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function write(folder: string, name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await Deno.writeTextFile(file, text);
  return file;
}

function generate(): Promise<Bundle> {
  return generateBundle({ contract: parseContract("v1.6"), nowMs: Date.now() });
}

Deno.test({
  name: `OpenSSL verifies every certificate that is issued${NOTE}`,
  ignore: isMissing,
  async fn() {
    const { certs: { os, k8s } } = await generate();
    const nowMs = Date.now();
    const names = {
      dnsNames: ["node"],
      ipAddresses: ["10.0.0.1", "fdae:41e4:649b:9303::2"],
      nowMs,
    };
    const { csr } = await createRequest({ kind: "ed25519", ...names });
    const leaves = [
      [
        os,
        (await issueTalosClientCertificate(os, { roles: ["os:admin"], nowMs })).crt,
        "sslclient",
      ],
      [os, (await issueMachineServerCertificate(os, names)).crt, "sslserver"],
      [os, await signMachineServerRequest(os, await parseRequest(csr), { nowMs }), "sslserver"],
      [k8s, (await issueKubernetesAdminCertificate(k8s, { nowMs })).crt, "sslclient"],
      [k8s, (await issueApiServerCertificate(k8s, names)).crt, "sslserver"],
    ] as const;
    await inFolder(async (folder) => {
      for (const [i, [ca, leaf, purpose]] of leaves.entries()) {
        const caFile = await write(folder, `ca-${i}.pem`, ca.crt);
        const leafFile = await write(folder, `leaf-${i}.pem`, leaf);
        const text = await openssl("verify", "-purpose", purpose, "-CAfile", caFile, leafFile);
        assert.match(text, /: OK\s*$/);
        if (purpose === "sslserver") {
          await openssl(
            "verify",
            "-CAfile",
            caFile,
            "-verify_ip",
            "fdae:41e4:649b:9303::2",
            leafFile,
          );
        }
      }
    });
  },
});

Deno.test({
  name: `OpenSSL reads every key, and finds it to fit its certificate${NOTE}`,
  ignore: isMissing,
  async fn() {
    const { certs } = await generate();
    await inFolder(async (folder) => {
      for (const { crt, key } of [certs.etcd, certs.k8s, certs.k8sAggregator, certs.os]) {
        const keyFile = await write(folder, "key.pem", toTlsKeyPem(key));
        const crtFile = await write(folder, "crt.pem", crt);
        assert.equal(
          await openssl("pkey", "-in", keyFile, "-pubout"),
          await openssl("x509", "-in", crtFile, "-noout", "-pubkey"),
        );
      }
    });
  },
});

/** The text of a certificate without what differs from one to the next. */
async function describe(folder: string, crt: string): Promise<string> {
  const file = await write(folder, "describe.pem", crt);
  const text = await openssl("x509", "-in", file, "-noout", "-text");
  return text.replace(/Serial Number:\s*(?:[0-9a-f]{2}:)+[0-9a-f]{2}/, "Serial Number: …")
    .replace(/Not (Before|After *): .*/g, "Not $1: …")
    .replace(/(?:[0-9A-Fa-f]{2}:){5,}[0-9A-Fa-f]{0,2}/g, "…")
    .replace(/^ +…?$\n?/gm, "").replace(/^ +(?:[0-9a-f]{2}:?)+$\n?/gm, "");
}

Deno.test({
  name: `authorities look to OpenSSL as the golden ones do${NOTE}${GOLDEN_NOTE}`,
  ignore: isMissing || !hasGoldenData,
  async fn() {
    const ours = await generate();
    const golden = bundleFromYaml(readGolden("talos-cases/bundles/c16.yaml"));
    await inFolder(async (folder) => {
      for (const name of ["etcd", "k8s", "k8sAggregator", "os"] as const) {
        const [mine, theirs] = [ours.certs[name].crt, golden.certs[name].crt];
        assert.equal(await describe(folder, mine), await describe(folder, theirs), name);
      }
    });
  },
});
