// SPDX-License-Identifier: AGPL-3.0-or-later

/** Records under which names a machine is known inside its cluster. @module */

import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { ClusterMachine } from "../../resources/cluster/cluster_machine.ts";
import { ClusterMachineIdentity } from "../../resources/cluster/cluster_machine_identity.ts";
import { LABEL_MIRROR_MACHINE } from "../../resources/labels.ts";
import { TalosEtcdMember } from "../../resources/mirror/etcd_member.ts";
import { TalosIdentity } from "../../resources/mirror/identity.ts";
import { TalosNodeAddress } from "../../resources/mirror/node_address.ts";
import { TalosNodename } from "../../resources/mirror/nodename.ts";
import { formatIp, localId } from "../machine/inventory.ts";

/** What a machine said of itself. */
export interface IdentityFacts {
  readonly identities: readonly Resource<typeof TalosIdentity>[];
  readonly etcdMembers: readonly Resource<typeof TalosEtcdMember>[];
  readonly nodenames: readonly Resource<typeof TalosNodename>[];
  readonly addresses: readonly Resource<typeof TalosNodeAddress>[];
  /** What was known before; a machine that is down keeps its names. */
  readonly current: Resource<typeof ClusterMachineIdentity> | undefined;
}

const MAPPED = [
  byLabel(TalosIdentity, LABEL_MIRROR_MACHINE),
  byLabel(TalosEtcdMember, LABEL_MIRROR_MACHINE),
  byLabel(TalosNodename, LABEL_MIRROR_MACHINE),
  byLabel(TalosNodeAddress, LABEL_MIRROR_MACHINE),
  sameId(ClusterMachineIdentity),
] as const;

/** Creates the controller. */
export function clusterMachineIdentityController(): Controller {
  return defineController({
    name: "cluster.ClusterMachineIdentityController",
    primary: ClusterMachine,
    mapped: MAPPED,
    output: ClusterMachineIdentity,
    gather: gatherIdentityFacts,
    plan: planClusterMachineIdentity,
  });
}

async function gatherIdentityFacts(
  { metadata: { id } }: Resource<typeof ClusterMachine>,
  reader: Reader<(typeof MAPPED)[number]["type"]>,
): Promise<IdentityFacts> {
  const options = { labels: { [LABEL_MIRROR_MACHINE]: id } };
  return {
    identities: await reader.list(TalosIdentity, options),
    etcdMembers: await reader.list(TalosEtcdMember, options),
    nodenames: await reader.list(TalosNodename, options),
    addresses: await reader.list(TalosNodeAddress, options),
    current: await reader.find(ClusterMachineIdentity, id),
  };
}

/** Takes over every name that the machine tells. */
export function planClusterMachineIdentity(
  { metadata: { labels } }: Resource<typeof ClusterMachine>,
  { identities, etcdMembers, nodenames, addresses, current }: IdentityFacts,
): Plan<typeof ClusterMachineIdentity> {
  const nodeIdentity = identities[0]?.spec.nodeId ?? current?.spec.nodeIdentity ?? "";
  if (nodeIdentity === "") return wait("the machine has not told its identity yet");
  const routed = addresses.find(({ metadata }) => localId(metadata.id) === "default");
  const ips = routed?.spec.addresses.map(({ ip }) => formatIp(ip)).filter((ip) => ip !== "");
  return {
    kind: "write",
    labels,
    spec: {
      nodeIdentity,
      etcdMemberId: memberId(etcdMembers[0]) ?? current?.spec.etcdMemberId ?? 0n,
      nodename: nodenames[0]?.spec.nodename ?? current?.spec.nodename ?? "",
      nodeIps: ips ?? current?.spec.nodeIps ?? [],
    },
  };
}

function memberId(member: Resource<typeof TalosEtcdMember> | undefined): bigint | undefined {
  const hex = member?.spec.memberId ?? "";
  return /^[0-9a-f]{1,16}$/.test(hex) ? BigInt(`0x${hex}`) : undefined;
}
