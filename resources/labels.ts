// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Names of labels and annotations that are more than a user's own.
 *
 * @module
 */

// Where a resource belongs.

/** The cluster's name. */
export const LABEL_CLUSTER = "omni.sidero.dev/cluster";
/** The machine set's ID. */
export const LABEL_MACHINE_SET = "omni.sidero.dev/machine-set";
/** On a patch: the machine's UUID, for a machine inside a cluster. */
export const LABEL_CLUSTER_MACHINE = "omni.sidero.dev/cluster-machine";
/** The machine's UUID. */
export const LABEL_MACHINE = "omni.sidero.dev/machine";
/** Present on what belongs to the control plane. */
export const LABEL_CONTROL_PLANE_ROLE = "omni.sidero.dev/role-controlplane";
/** Present on what belongs to workers. */
export const LABEL_WORKER_ROLE = "omni.sidero.dev/role-worker";
/** The cluster's UUID. */
export const LABEL_CLUSTER_UUID = "omni.sidero.dev/cluster-uuid";
/** The node's name, on the status of a machine in a cluster. */
export const LABEL_NODE_NAME = "omni.sidero.dev/node-name";

// Patches.

/** Present on a patch that is to be skipped. */
export const LABEL_DISABLED = "omni.sidero.dev/disabled";

// Infrastructure providers.

/** The provider's ID. */
export const LABEL_INFRA_PROVIDER_ID = "omni.sidero.dev/infra-provider-id";
/** The machine request's ID. */
export const LABEL_MACHINE_REQUEST = "omni.sidero.dev/machine-request";

// Machines.

/** The machine's address in the tunnel. */
export const LABEL_MACHINE_ADDRESS = "omni.sidero.dev/address";
/** Present on a machine that no cluster has. */
export const LABEL_AVAILABLE = "omni.sidero.dev/available";
/** Present while the machine's tunnel is up. */
export const LABEL_CONNECTED = "omni.sidero.dev/connected";
/** Present while the machine's tunnel is down. */
export const LABEL_DISCONNECTED = "omni.sidero.dev/disconnected";
/** Number of processor cores. */
export const LABEL_CORES = "omni.sidero.dev/cores";
/** Memory, with a unit. */
export const LABEL_MEM = "omni.sidero.dev/mem";
/** Disk space, with a unit. */
export const LABEL_STORAGE = "omni.sidero.dev/storage";
/** Platform that the machine runs on. */
export const LABEL_PLATFORM = "omni.sidero.dev/platform";
/** Version of the operating system. */
export const LABEL_TALOS_VERSION = "omni.sidero.dev/talos-version";
/** Present on a machine that refuses the server's credentials. */
export const LABEL_INVALID_STATE = "omni.sidero.dev/invalid-state";
/** Present on a machine that sends events. */
export const LABEL_REPORTING_EVENTS = "omni.sidero.dev/reporting-events";
/** On a copied resource: the machine's UUID. */
export const LABEL_MIRROR_MACHINE = "batuta.altlinux.org/machine";

// Annotations.

/** Freezes a cluster while present. */
export const ANNOTATION_CLUSTER_LOCKED = "omni.sidero.dev/cluster-locked";
/** Freezes a machine while present on its machine set node. */
export const ANNOTATION_MACHINE_LOCKED = "omni.sidero.dev/locked";
/** On a Link: only the machine with the right token may take it from here on. */
export const ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN =
  "siderolink.omni.sidero.dev/force-valid-node-unique-token";
/** On a Link: the machine came back without its token after a silence. */
export const ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN =
  "batuta.altlinux.org/reclaimed-without-node-token";
/** On a TalosVersion: the version of Talos inside the image that is offered under this version. */
export const ANNOTATION_TALOS_VERSION = "batuta.altlinux.org/talos-version";
/** On a node token and its status: the WireGuard key of the boot that it was assigned to. */
export const ANNOTATION_NODE_TOKEN_KEY = "batuta.altlinux.org/node-token-key";
/** On a configuration status: the WireGuard key of the boot in which the machine got it. */
export const ANNOTATION_APPLIED_IN_BOOT = "batuta.altlinux.org/applied-in-boot";
/** On a configuration status: hash of a configuration that the machine may have got; nobody knows. */
export const ANNOTATION_APPLYING_SHA256 = "batuta.altlinux.org/applying-sha256";
/** On a configuration status: the WireGuard key of the boot in which the machine was reset. */
export const ANNOTATION_RESET_IN_BOOT = "batuta.altlinux.org/reset-in-boot";
/** On a session status: the WireGuard key of the boot that the session is with. */
export const ANNOTATION_SESSION_BOOT = "batuta.altlinux.org/session-boot";
/** On a bootstrap status: the machines that may hold data of etcd, with commas between them. */
export const ANNOTATION_ETCD_MACHINES = "batuta.altlinux.org/etcd-machines";
/** On a Link: the name of the machine's way over gRPC, empty for UDP; packets are admitted by it. */
export const LABEL_VIRTUAL_ENDPOINT = "batuta.altlinux.org/virtual-endpoint";
