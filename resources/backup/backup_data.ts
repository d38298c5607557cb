// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `BackupData`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { BackupDataSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** What a backup of etcd needs to know of a cluster; the ID is the cluster's name. */
export const BackupData = defineResource({
  type: "BackupDatas.omni.sidero.dev",
  namespace: "default",
  schema: BackupDataSpecSchema,
  access: "hidden",
});
