// SPDX-License-Identifier: AGPL-3.0-or-later

/** Makes the secrets bundle of a cluster, once. @module */

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
import { ClusterConfigVersion } from "../../resources/cluster/cluster_config_version.ts";
import type { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterSecret } from "../../resources/cluster/cluster_secret.ts";
import { bundleToJson, generateBundle } from "../../talos/config/bundle.ts";
import { parseContract } from "../../talos/config/contract.ts";
import { CLUSTER_MACHINES, listClusterMachines, planRelease } from "./release.ts";

/** What the secrets depend on besides the cluster. */
export interface ClusterSecretsFacts {
  readonly configVersion: Resource<typeof ClusterConfigVersion> | undefined;
  readonly current: Resource<typeof ClusterSecret> | undefined;
  readonly machinesLeft: number;
}

/** Secrets are to be made. */
export interface MakeSecrets {
  /** The version contract, for example `v1.12`. */
  readonly contract: string;
}

/** Creates the controller. */
export function clusterSecretsController({ clock }: { readonly clock: Clock }): Controller {
  return defineController({
    name: "cluster.ClusterSecretsController",
    primary: Cluster,
    mapped: [sameId(ClusterConfigVersion), sameId(ClusterSecret), CLUSTER_MACHINES],
    output: ClusterSecret,
    // Keys take seconds of a processor: more at once would only delay the first of them.
    concurrency: 2,
    plansTeardown: true,
    gather: gatherClusterSecretsFacts,
    plan: planClusterSecrets,
    act: async (_cluster, { contract }) => {
      const bundle = await generateBundle({
        contract: parseContract(contract),
        nowMs: clock.nowMs(),
      });
      return { data: new TextEncoder().encode(bundleToJson(bundle)) };
    },
  });
}

async function gatherClusterSecretsFacts(
  { metadata: { id } }: Resource<typeof Cluster>,
  reader: Reader<typeof ClusterConfigVersion | typeof ClusterSecret | typeof ClusterMachine>,
): Promise<ClusterSecretsFacts> {
  return {
    configVersion: await reader.find(ClusterConfigVersion, id),
    current: await reader.find(ClusterSecret, id),
    machinesLeft: (await listClusterMachines(id, reader)).length,
  };
}

/** Keeps the secrets that there are, or has them made. */
export function planClusterSecrets(
  cluster: Resource<typeof Cluster>,
  { configVersion, current, machinesLeft }: ClusterSecretsFacts,
): Plan<typeof ClusterSecret, MakeSecrets> {
  const release = planRelease(cluster, machinesLeft);
  if (release !== undefined) return release;
  if (current !== undefined) return { kind: "write", spec: current.spec };
  if (configVersion === undefined) return wait("the version contract is not known yet");
  return { kind: "write", spec: {}, action: { contract: configVersion.spec.version } };
}
