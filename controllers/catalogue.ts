// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Every controller of the program, in one explicit list.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Controller } from "../cosi/controller.ts";
import type { Resource } from "../cosi/resource.ts";
import type { PeerTable } from "../link/peers.ts";
import type { ConfigPatch } from "../resources/config/config_patch.ts";
import type { TalosApi } from "../talos/api.ts";
import { clusterBootstrapStatusController } from "./cluster/cluster_bootstrap_status.ts";
import { clusterConfigVersionController } from "./cluster/cluster_config_version.ts";
import { clusterEndpointController } from "./cluster/cluster_endpoint.ts";
import { clusterMachineController } from "./cluster/cluster_machine.ts";
import { clusterMachineIdentityController } from "./cluster/cluster_machine_identity.ts";
import { clusterMachineStatusController } from "./cluster/cluster_machine_status.ts";
import { clusterUuidController } from "./cluster/cluster_uuid.ts";
import { clusterSecretsController } from "./cluster/cluster_secrets.ts";
import { controlPlaneStatusController } from "./cluster/control_plane_status.ts";
import { clusterStatusController } from "./cluster/cluster_status.ts";
import {
  type BalancerAddresses,
  loadBalancerConfigController,
} from "./cluster/load_balancer_config.ts";
import { type BalancerPort, loadBalancerStatusController } from "./cluster/load_balancer_status.ts";
import { machineSetStatusController } from "./cluster/machine_set_status.ts";
import { talosConfigController } from "./cluster/talos_config.ts";
import type { TeardownPort } from "./cluster/teardown_port.ts";
import {
  clusterMachineConfigController,
  type InstallImageSource,
} from "./config/cluster_machine_config.ts";
import { clusterMachineConfigPatchesController } from "./config/cluster_machine_config_patches.ts";
import { clusterMachineConfigStatusController } from "./config/cluster_machine_config_status.ts";
import { clusterMachineTalosVersionController } from "./config/cluster_machine_talos_version.ts";
import { machineConfigGenOptionsController } from "./config/machine_config_gen_options.ts";
import { machineInstallDiskStatusController } from "./config/machine_install_disk_status.ts";
import { machineJoinConfigController } from "./config/machine_join_config.ts";
import { linkPeerController } from "./link/link_peer.ts";
import { nodeTokenController, type NodeTokenPort } from "./link/node_token.ts";
import { nodeTokenStatusController } from "./link/node_token_status.ts";
import { machineController } from "./machine/machine.ts";
import { machineStatusController } from "./machine/machine_status.ts";
import { type BackendPort, backendStatusController } from "./system/backend_status.ts";
import { type MirrorPort, talosSessionController } from "./talos/session.ts";
import { type SessionHealthPort, talosSessionStatusController } from "./talos/session_status.ts";

/** What controllers reach outside the state. */
export interface Adapters extends NodeTokenPort {
  readonly clock: Clock;
  readonly backend: BackendPort;
  readonly peers: PeerTable;
  readonly talos: TalosApi;
  readonly mirror: MirrorPort;
  readonly sessions: SessionHealthPort;
  readonly balancers: BalancerPort;
  readonly balancerAddresses: BalancerAddresses;
  readonly installImages: InstallImageSource;
  readonly teardown: TeardownPort;
  /** Makes a random UUID for a cluster. */
  readonly newUuid: () => string;
  /** The text of a patch, which clients may have compressed. */
  readonly patchText: (patch: Resource<typeof ConfigPatch>) => string;
}

/** Declares all controllers over their adapters. */
export function controllerCatalogue(adapters: Adapters): Controller[] {
  return [
    backendStatusController(adapters),
    machineController(),
    machineStatusController(),
    linkPeerController(adapters),
    nodeTokenController(adapters),
    nodeTokenStatusController(adapters),
    talosSessionController(adapters),
    talosSessionStatusController(adapters),
    machineJoinConfigController(),
    machineInstallDiskStatusController(),
    machineConfigGenOptionsController(),
    clusterUuidController(adapters),
    clusterConfigVersionController(),
    clusterSecretsController(adapters),
    talosConfigController(adapters),
    clusterEndpointController(),
    loadBalancerConfigController(adapters.balancerAddresses),
    loadBalancerStatusController(adapters),
    clusterMachineController(adapters),
    clusterMachineTalosVersionController(),
    clusterMachineConfigPatchesController({ textOf: adapters.patchText }),
    clusterMachineConfigController(adapters.installImages),
    clusterMachineConfigStatusController(adapters),
    clusterBootstrapStatusController(adapters),
    clusterMachineIdentityController(),
    clusterMachineStatusController(),
    machineSetStatusController(adapters),
    controlPlaneStatusController(),
    clusterStatusController(adapters),
  ];
}
