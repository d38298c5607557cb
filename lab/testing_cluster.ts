// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A cluster's secrets and configurations for tests of machines.
 *
 * @module
 */

import { parseContract } from "../talos/config/contract.ts";
import { type Bundle, generateBundle } from "../talos/config/bundle.ts";
import {
  issueKubernetesAdminCertificate,
  issueTalosClientCertificate,
} from "../talos/config/certificates.ts";
import { generateConfig } from "../talos/config/generate.ts";
import type { MachineType } from "../talos/config/generate_input.ts";
import { SERVER_ADDRESS } from "../link/addresses.ts";
import type { TestCredentials } from "./testing.ts";

/** The secrets of one cluster and what follows from them. */
export interface TestCluster {
  readonly bundle: Bundle;
  config(machineType: MachineType, changes?: { readonly installDisk?: string }): string;
  /** For the machine API, with these roles. */
  talosCredentials(...roles: string[]): Promise<TestCredentials>;
  /** For the Kubernetes API. */
  kubernetesCredentials(): Promise<TestCredentials>;
}

/** Makes a cluster of contract 1.12. */
export async function createTestCluster(clusterName = "test"): Promise<TestCluster> {
  const contract = parseContract("v1.12");
  const nowMs = Date.now();
  // Older contracts have a service account key that is made at once; nothing else differs here.
  const bundle = await generateBundle({ contract: parseContract("v1.6"), nowMs });
  return {
    bundle,
    config: (machineType, { installDisk = "/dev/vda" } = {}) =>
      generateConfig({
        bundle,
        clusterName,
        endpoint: `https://[${SERVER_ADDRESS}]:10000`,
        kubernetesVersion: "1.34.1",
        contract,
        machineType,
        options: { installDisk, installImage: "ghcr.io/siderolabs/installer:v1.12.11" },
      }),
    talosCredentials: async (...roles) => {
      const { crt, key } = await issueTalosClientCertificate(bundle.certs.os, { roles, nowMs });
      return { ca: bundle.certs.os.crt, cert: crt, key };
    },
    kubernetesCredentials: async () => {
      const { crt, key } = await issueKubernetesAdminCertificate(bundle.certs.k8s, { nowMs });
      return { ca: bundle.certs.k8s.crt, cert: crt, key };
    },
  };
}
