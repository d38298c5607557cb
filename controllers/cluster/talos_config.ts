// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps the server's own client certificate for the machines of a cluster, renewed in time.
 *
 * @module
 */

import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Clock } from "../../base/clock.ts";
import type { Resource } from "../../cosi/resource.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterSecret } from "../../resources/cluster/cluster_secret.ts";
import { TalosConfig } from "../../resources/talos/talos_config.ts";
import { bundleFromJson } from "../../talos/config/bundle.ts";
import {
  CLIENT_LIFETIME_MS,
  issueTalosClientCertificate,
} from "../../talos/config/certificates.ts";
import { pemFromBase64, pemToBase64 } from "../../talos/config/pem.ts";
import { parseCertificate } from "../../talos/config/pki.ts";
import { CLUSTER_MACHINES, listClusterMachines, planRelease } from "./release.ts";

/** What the credentials depend on besides the cluster. */
export interface TalosConfigFacts {
  readonly secrets: Resource<typeof ClusterSecret> | undefined;
  readonly current: Resource<typeof TalosConfig> | undefined;
  /** How long the present certificate is still valid, in ms; absent without one. */
  readonly validForMs: number | undefined;
  readonly machinesLeft: number;
}

/** A certificate is to be issued. */
export interface IssueClientCertificate {
  /** The JSON form of the secrets bundle. */
  readonly bundle: string;
}

/** A certificate in the last half of its life is renewed. */
const RENEW_BEFORE_MS = CLIENT_LIFETIME_MS / 2;

/** Timers of the engine are shorter than half a year; a look a day is enough. */
const LOOK_AGAIN_MS = 24 * 3_600_000;

/** Creates the controller. */
export function talosConfigController({ clock }: { readonly clock: Clock }): Controller {
  return defineController({
    name: "cluster.TalosConfigController",
    primary: Cluster,
    mapped: [sameId(ClusterSecret), sameId(TalosConfig), CLUSTER_MACHINES],
    output: TalosConfig,
    plansTeardown: true,
    gather: (cluster, reader) => gatherTalosConfigFacts(cluster, reader, clock),
    plan: planTalosConfig,
    act: async (_cluster, { bundle }) => {
      const { certs } = bundleFromJson(bundle);
      const nowMs = clock.nowMs();
      const client = await issueTalosClientCertificate(certs.os, { roles: ["os:admin"], nowMs });
      return {
        ca: pemToBase64(certs.os.crt),
        crt: pemToBase64(client.crt),
        key: pemToBase64(client.key),
      };
    },
  });
}

async function gatherTalosConfigFacts(
  { metadata: { id } }: Resource<typeof Cluster>,
  reader: Reader<typeof ClusterSecret | typeof TalosConfig | typeof ClusterMachine>,
  clock: Clock,
): Promise<TalosConfigFacts> {
  const current = await reader.find(TalosConfig, id);
  return {
    secrets: await reader.find(ClusterSecret, id),
    current,
    validForMs: current === undefined
      ? undefined
      : parseCertificate(pemFromBase64(current.spec.crt)).notAfter.getTime() - clock.nowMs(),
    machinesLeft: (await listClusterMachines(id, reader)).length,
  };
}

/** Keeps a certificate that is valid for long enough, or has one issued. */
export function planTalosConfig(
  cluster: Resource<typeof Cluster>,
  { secrets, current, validForMs = 0, machinesLeft }: TalosConfigFacts,
): Plan<typeof TalosConfig, IssueClientCertificate> {
  const release = planRelease(cluster, machinesLeft);
  if (release !== undefined) return release;
  if (secrets === undefined) return wait("the cluster has no secrets yet");
  if (current !== undefined && validForMs > RENEW_BEFORE_MS) {
    return { kind: "write", spec: current.spec, retryAfterMs: LOOK_AGAIN_MS };
  }
  const bundle = new TextDecoder().decode(secrets.spec.data);
  return { kind: "write", spec: {}, action: { bundle }, retryAfterMs: LOOK_AGAIN_MS };
}
