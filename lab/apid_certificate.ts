// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server certificate of a configured machine: control planes issue their own, workers ask trustd.
 *
 * @module
 */

import { SecurityService } from "../proto/gen/talos/security_pb.ts";
import { createChannel, createClient } from "../rpc/client.ts";
import { wrapTlsClient } from "../rpc/tls.ts";
import { issueMachineServerCertificate } from "../talos/config/certificates.ts";
import { type CertificateAndKey, createRequest } from "../talos/config/pki.ts";
import { backoffMs } from "../base/retry.ts";
import type { Boot } from "./boot.ts";
import { dialFrom, isAddress, verifyHost } from "./join.ts";
import { countCall } from "./machine_core.ts";
import { setService } from "./status.ts";

const TRUSTD_PORT = 50001;

/** A worker gives up one request after this time. */
const REQUEST_TIMEOUT_MS = 10_000;
const BACKOFF = { initialMs: 500, maximumMs: 10_000 };

/** Certificates live for 24 hours and are renewed at half of that. */
const RENEW_MS = 12 * 3_600_000;

/** Keeps the machine API supplied with a certificate until the power goes. */
export async function apidCertificate(boot: Boot): Promise<void> {
  const { core, signal } = boot;
  while (!signal.aborted) {
    // The address in the tunnel is one of the names.
    await core.changed.until(() => boot.tunnel !== undefined, signal);
    const basis = basisOf(boot);
    const issued = await obtain(boot);
    if (issued === undefined) return;
    boot.apid = { kind: "mtls", ...issued };
    setService(boot, "apid", "Running", "Health check successful");
    await untilStale(boot, basis);
  }
}

interface Issued {
  readonly certificate: CertificateAndKey;
  readonly authorities: string;
}

/** What a certificate depends on. */
function basisOf(boot: Boot): string {
  const { config, hostname, tunnel } = boot;
  const { osCa, acceptedOsCas, certSans } = config?.facts ?? {};
  return JSON.stringify([osCa, acceptedOsCas, certSans, hostname, tunnel?.address]);
}

async function untilStale(boot: Boot, basis: string): Promise<void> {
  const { core, signal } = boot;
  const renew = new AbortController();
  const sleeping = core.clock.sleep(RENEW_MS, AbortSignal.any([signal, renew.signal]))
    .then(() => core.changed.fire());
  const untilMs = core.clock.nowMs() + RENEW_MS;
  try {
    await core.changed.until(
      () => boot.tunnel !== undefined && basisOf(boot) !== basis || core.clock.nowMs() >= untilMs,
      signal,
    );
  } finally {
    renew.abort();
    await sleeping;
  }
}

async function obtain(boot: Boot): Promise<Issued | undefined> {
  const { config, core, hostname, tunnel } = boot;
  const { osCa, acceptedOsCas = [], certSans = [] } = config?.facts ?? {};
  if (osCa === undefined) {
    throw new TypeError("a configuration without an OS authority is in force");
  }
  const names = {
    commonName: hostname,
    dnsNames: [hostname, ...certSans.filter((name) => !isAddress(name))],
    ipAddresses: [
      ...new Set([
        "127.0.0.1",
        core.hardware.address,
        ...(tunnel === undefined ? [] : [tunnel.address]),
        ...certSans.filter(isAddress),
      ]),
    ],
  };
  const authorities = [osCa.crt, ...acceptedOsCas].join("");
  if (osCa.key !== undefined && osCa.key !== "") {
    const certificate = await issueMachineServerCertificate({ crt: osCa.crt, key: osCa.key }, {
      ...names,
      nowMs: core.clock.nowMs(),
    });
    return { certificate, authorities };
  }
  const certificate = await askTrustd(boot, names, authorities);
  return certificate === undefined ? undefined : { certificate, authorities };
}

/** Asks trustd at the cluster's endpoint until somebody answers; `undefined` when the power went. */
async function askTrustd(
  boot: Boot,
  names: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] },
  authorities: string,
): Promise<CertificateAndKey | undefined> {
  const { core, signal } = boot;
  const { csr, key } = await createRequest({ kind: "ed25519", ...names });
  const host = URL.parse(boot.config?.facts.endpoint ?? "")?.hostname.replace(/^\[|\]$/g, "") ?? "";
  for (let attempt = 1; !signal.aborted; attempt++) {
    countCall(core, "trustd");
    const channel = createChannel({
      authority: `${host}:${TRUSTD_PORT}`,
      scheme: "https",
      dial: async (dialSignal) => {
        const stream = await dialFrom(boot, { host, port: TRUSTD_PORT }, dialSignal);
        return await wrapTlsClient(stream, { ca: authorities, ...verifyHost(host) });
      },
      dialTimeoutMs: REQUEST_TIMEOUT_MS,
    });
    try {
      const { crt } = await createClient(SecurityService, channel).certificate({
        csr: new TextEncoder().encode(csr),
      }, {
        metadata: { token: boot.config?.facts.machineToken ?? "" },
        timeoutMs: REQUEST_TIMEOUT_MS,
        signal,
      });
      return { crt: new TextDecoder().decode(crt), key };
    } catch (error) {
      core.log.debug("trustd did not answer", { machine: core.hardware.uuid, attempt, error });
      boot.kernelLog.write("warn", "[talos] controller failed: secrets.APIController");
    } finally {
      channel.close();
    }
    await core.clock.sleep(backoffMs(attempt, BACKOFF), signal);
  }
  return undefined;
}
