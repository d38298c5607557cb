// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of a Cluster that need nothing but the Cluster.
 *
 * @module
 */

import type { ClusterSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { ANNOTATION_CLUSTER_LOCKED } from "../labels.ts";
import {
  type Change,
  hasChanged,
  onRemoval,
  onWrite,
  parseVersion,
  type Refuse,
  type Rule,
  validatorOf,
} from "../rules.ts";

type ClusterRule = Rule<typeof ClusterSpecSchema>;
type ClusterChange = Change<typeof ClusterSpecSchema>;

const checkName: ClusterRule = ({ verb, metadata }, refuse) => {
  if (verb !== "create" || /^[\p{L}\p{Nd}_-]+$/u.test(metadata.id)) return;
  refuse("metadata.id", "must hold only letters, digits, - and _", metadata.id);
};

function checkVersion(field: string, version: string, refuse: Refuse): void {
  if (version === "") refuse(field, "is required");
  else if (parseVersion(version) === undefined) {
    refuse(field, "must be a version such as 1.12.10, without v", version);
  }
}

const checkVersions: ClusterRule = ({ spec }, refuse) => {
  checkVersion("spec.talosVersion", spec.talosVersion, refuse);
  checkVersion("spec.kubernetesVersion", spec.kubernetesVersion, refuse);
};

const checkEncryption: ClusterRule = ({ spec, stored }, refuse) => {
  const wanted = spec.features?.diskEncryption === true;
  const field = "spec.features.diskEncryption";
  if (stored !== undefined && wanted !== (stored.spec.features?.diskEncryption === true)) {
    refuse(field, "must stay as it was when the cluster was created", wanted);
  } else if (wanted) {
    // Accepting it would let users believe that their disks are encrypted.
    refuse(field, "is not supported yet: this server holds no keys for disks", true);
  }
};

/** Bounds of the time between two backups, in seconds. */
const BACKUP_SECONDS = { minimum: 3600n, maximum: 86_400n };

const checkBackup: ClusterRule = ({ spec: { backupConfiguration } }, refuse) => {
  if (backupConfiguration?.enabled !== true) return;
  const seconds = backupConfiguration.interval?.seconds ?? 0n;
  if (seconds >= BACKUP_SECONDS.minimum && seconds <= BACKUP_SECONDS.maximum) return;
  refuse("spec.backupConfiguration.interval", "must be from 1 to 24 hours", `${seconds}s`);
};

function isLocked({ metadata }: Pick<ClusterChange, "metadata">): boolean {
  return Object.hasOwn(metadata.annotations, ANNOTATION_CLUSTER_LOCKED);
}

const checkLock: ClusterRule = ({ metadata, spec, stored }, refuse) => {
  // The lock may be taken away together with the change.
  if (stored === undefined || !isLocked(stored) || !isLocked({ metadata })) return;
  if (!hasChanged(stored.spec, spec)) return;
  refuse("spec", `must not change while the annotation ${ANNOTATION_CLUSTER_LOCKED} is set`);
};

const checkLockedRemoval: ClusterRule = ({ metadata }, refuse) => {
  if (!isLocked({ metadata })) return;
  refuse("the cluster", `is locked by the annotation ${ANNOTATION_CLUSTER_LOCKED}`);
};

/** Validates a Cluster. */
export const validateCluster = validatorOf<typeof ClusterSpecSchema>(
  checkName,
  onWrite(checkVersions),
  onWrite(checkEncryption),
  onWrite(checkBackup),
  onWrite(checkLock),
  onRemoval(checkLockedRemoval),
);
