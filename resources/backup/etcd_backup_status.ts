// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdBackupStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdBackupStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The last backup of a cluster; the ID is the cluster's name. */
export const EtcdBackupStatus = defineResource({
  type: "EtcdBackupStatuses.omni.sidero.dev",
  namespace: "metrics",
  schema: EtcdBackupStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "EtcdBackupStatus",
    printColumns: [
      { name: "Status", jsonPath: "{.status}" },
      { name: "Error", jsonPath: "{.error}" },
      { name: "Last Backup", jsonPath: "{.lastbackuptime}" },
      { name: "Last Backup Attempt", jsonPath: "{.lastbackupattempt}" },
    ],
  },
  ephemeral: true,
});
