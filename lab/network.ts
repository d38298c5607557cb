// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The resources that describe a machine's network and its place in a cluster.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import { type NetIPPrefix, NetIPPrefixSchema, NetIPSchema } from "../proto/gen/talos/common_pb.ts";
import {
  MachineConfigSpecSchema,
  MachineType,
  MachineTypeSpecSchema,
} from "../proto/gen/talos/config_pb.ts";
import {
  IdentitySpecSchema,
  InfoSpecSchema,
  MemberSpecSchema,
} from "../proto/gen/talos/resource/cluster_pb.ts";
import {
  MachineType as ClusterMachineType,
  NethelpersFamily as Family,
  NethelpersLinkType as LinkType,
  NethelpersOperationalState as LinkState,
  NethelpersRoutingTable as Table,
} from "../proto/gen/talos/resource/enums_pb.ts";
import { MemberSpecSchema as EtcdMemberSpecSchema } from "../proto/gen/talos/resource/etcd_pb.ts";
import { NodenameSpecSchema, NodeStatusSpecSchema } from "../proto/gen/talos/resource/k8s_pb.ts";
import {
  HostnameStatusSpecSchema,
  LinkStatusSpecSchema,
  NodeAddressSpecSchema,
  RouteStatusSpecSchema,
} from "../proto/gen/talos/resource/network_pb.ts";
import { ipv6Bytes, parseIpv4 } from "../link/addresses.ts";
import { writeYaml } from "../talos/config/yaml_write.ts";
import { type Boot, isControlPlane } from "./boot.ts";
import type { MachineConfig } from "./machine_config.ts";
import { type EncodedSpec, encodeSpec } from "./resource_store.ts";
import type { ClusterWorld } from "./world.ts";

/** Names of the tunnel's link: a kernel's WireGuard, or a device in user space. */
const TUNNEL_LINK = "siderolink";
const GRPC_TUNNEL_LINK = "siderolinktun";

/** MTU of the tunnel. */
const TUNNEL_MTU = 1280;

/** Tells links and addresses, those of the tunnel once there is one. */
export function publishNetwork(boot: Boot): void {
  const { hardware } = boot.core;
  boot.resources.put(
    "LinkStatuses.net.talos.dev",
    "eth0",
    LinkStatusSpecSchema,
    create(LinkStatusSpecSchema, {
      index: 1,
      type: LinkType.LINK_ETHER,
      flags: 69_699,
      hardwareAddr: macBytes(hardware.mac),
      permanentAddr: macBytes(hardware.mac),
      mtu: 1500,
      operationalState: LinkState.OPER_STATE_UP,
      driver: "virtio_net",
      vendor: "Red Hat, Inc.",
      linkState: true,
      speedMegabits: 10_000n,
    }),
  );
  const addresses = [prefix(hardware.address, 24)];
  if (boot.tunnel === undefined) {
    for (const link of [TUNNEL_LINK, GRPC_TUNNEL_LINK]) {
      boot.resources.remove("LinkStatuses.net.talos.dev", link);
    }
  } else {
    addresses.push(prefix(boot.tunnel.address, 64));
    boot.resources.put(
      "LinkStatuses.net.talos.dev",
      boot.tunnel.isOverGrpc ? GRPC_TUNNEL_LINK : TUNNEL_LINK,
      LinkStatusSpecSchema,
      create(LinkStatusSpecSchema, {
        index: 2,
        type: LinkType.LINK_NONE,
        flags: 65_745,
        mtu: TUNNEL_MTU,
        kind: "wireguard",
        operationalState: LinkState.OPER_STATE_UNKNOWN,
        linkState: true,
      }),
    );
  }
  publishRoute(boot);
  // Only "accumulative" keeps the addresses of the tunnel.
  const shown: Readonly<Record<string, NetIPPrefix[]>> = {
    default: addresses.slice(0, 1),
    current: addresses,
    routed: addresses.slice(0, 1),
    accumulative: addresses,
  };
  for (const [id, list] of Object.entries(shown)) {
    boot.resources.put(
      "NodeAddresses.net.talos.dev",
      id,
      NodeAddressSpecSchema,
      create(NodeAddressSpecSchema, { addresses: list }),
    );
  }
}

function publishRoute(boot: Boot): void {
  const gateway = boot.core.hardware.address.replace(/\d+$/, "254");
  boot.resources.put(
    "RouteStatuses.net.talos.dev",
    `inet4/${gateway}//1024`,
    RouteStatusSpecSchema,
    create(RouteStatusSpecSchema, {
      family: Family.FAMILY_INET4,
      gateway: create(NetIPSchema, { ip: ipBytes(gateway) }),
      outLinkIndex: 1,
      outLinkName: "eth0",
      table: Table.TABLE_MAIN,
      priority: 1024,
    }),
  );
}

/** Tells the host name and takes it over. */
export function publishHostname(boot: Boot, hostname: string): void {
  boot.hostname = hostname;
  boot.resources.put(
    "HostnameStatuses.net.talos.dev",
    "hostname",
    HostnameStatusSpecSchema,
    create(HostnameStatusSpecSchema, { hostname }),
  );
}

/** Tells the configuration that is in force and the one that the next boot reads. */
export function publishConfig(boot: Boot): void {
  const put = (id: string, text: string | undefined): void => {
    const type = "MachineConfigs.config.talos.dev";
    if (text === undefined) return boot.resources.remove(type, id);
    const yamlMarshalled = new TextEncoder().encode(text);
    boot.resources.put(
      type,
      id,
      MachineConfigSpecSchema,
      create(MachineConfigSpecSchema, { yamlMarshalled }),
      { yaml: writeYaml(text), annotations: { "talos.dev/yaml-spec": "1" } },
    );
  };
  put("v1alpha1", boot.config?.text);
  put("persistent", boot.core.disk.stagedConfig ?? boot.core.disk.config ?? boot.config?.text);
  if (boot.config?.isComplete !== true) return;
  publishMembership(boot, boot.config);
}

function publishMembership(boot: Boot, { facts }: MachineConfig): void {
  const type = isControlPlane(boot) ? MachineType.CONTROL_PLANE : MachineType.WORKER;
  boot.resources.put(
    "MachineTypes.config.talos.dev",
    "machine-type",
    MachineTypeSpecSchema,
    create(MachineTypeSpecSchema, { machineType: type }),
    { yaml: `${facts.machineType ?? "unknown"}\n` },
  );
  boot.resources.put(
    "Identities.cluster.talos.dev",
    "local",
    IdentitySpecSchema,
    create(IdentitySpecSchema, { nodeId: nodeIdOf(boot) }),
  );
  boot.resources.put(
    "Infos.cluster.talos.dev",
    "current",
    InfoSpecSchema,
    create(InfoSpecSchema, {
      clusterId: facts.clusterId ?? "",
      clusterName: facts.clusterName ?? "",
    }),
  );
  boot.resources.put(
    "Nodenames.kubernetes.talos.dev",
    "nodename",
    NodenameSpecSchema,
    create(NodenameSpecSchema, { nodename: boot.hostname, hostnameVersion: "1" }),
  );
}

/** The identity of a machine in discovery; a new one whenever STATE was wiped. */
function nodeIdOf({ core }: Boot): string {
  return `lab${core.hardware.uuid.replaceAll("-", "")}`;
}

/** What discovery tells the others of this machine. */
export function memberSpec(boot: Boot): EncodedSpec {
  const isController = isControlPlane(boot);
  return encodeSpec(
    MemberSpecSchema,
    create(MemberSpecSchema, {
      nodeId: nodeIdOf(boot),
      addresses: [create(NetIPSchema, { ip: ipBytes(boot.core.hardware.address) })],
      hostname: boot.hostname,
      machineType: isController
        ? ClusterMachineType.TYPE_CONTROL_PLANE
        : ClusterMachineType.TYPE_WORKER,
      operatingSystem: `Talos (${boot.version})`,
      ...(isController ? { controlPlane: { apiServerPort: 6443n } } : {}),
    }),
  );
}

/** Tells the members of the cluster as discovery reports them. */
export function publishMembers({ resources }: Boot, { members }: ClusterWorld): void {
  const type = "Members.cluster.talos.dev";
  for (const [hostname, spec] of members) resources.putEncoded(type, hostname, spec);
  for (const { metadata } of resources.list("cluster", type)) {
    if (metadata !== undefined && !members.has(metadata.id)) resources.remove(type, metadata.id);
  }
}

/** Tells the machine's own membership in etcd, or that it has none. */
export function publishEtcdMember(boot: Boot, id: bigint | undefined): void {
  const type = "EtcdMembers.etcd.talos.dev";
  if (id === undefined) return boot.resources.remove(type, "local");
  boot.resources.put(
    type,
    "local",
    EtcdMemberSpecSchema,
    create(EtcdMemberSpecSchema, { memberId: id.toString(16).padStart(16, "0") }),
  );
}

/** Tells what Kubernetes knows of this machine's node. */
export function publishNodeStatus(boot: Boot, cluster: ClusterWorld): void {
  const type = "NodeStatuses.kubernetes.talos.dev";
  const node = cluster.nodes.find(boot.hostname);
  if (node === undefined) return boot.resources.remove(type, boot.hostname);
  boot.resources.put(
    type,
    boot.hostname,
    NodeStatusSpecSchema,
    create(NodeStatusSpecSchema, {
      nodename: boot.hostname,
      nodeReady: node.isReady,
      unschedulable: node.unschedulable,
      labels: { ...node.spec.labels },
    }),
  );
}

function prefix(address: string, prefixLength: number): NetIPPrefix {
  return create(NetIPPrefixSchema, { ip: ipBytes(address), prefixLength });
}

function ipBytes(address: string): Uint8Array {
  return parseIpv4(address) ?? ipv6Bytes(address);
}

function macBytes(mac: string): Uint8Array {
  return Uint8Array.from(mac.split(":").map((byte) => parseInt(byte, 16)));
}
