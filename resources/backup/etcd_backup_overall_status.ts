// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdBackupOverallStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdBackupOverallStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The state of backups over all clusters; one resource. */
export const EtcdBackupOverallStatus = defineResource({
  type: "EtcdBackupOverallStatuses.omni.sidero.dev",
  namespace: "metrics",
  schema: EtcdBackupOverallStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "EtcdBackupOverallStatus",
    printColumns: [
      { name: "Configuration Name", jsonPath: "{.configurationname}" },
      { name: "Configuration Error", jsonPath: "{.configurationerror}" },
      { name: "Last Backup Status", jsonPath: "{.lastbackupstatus.status}" },
      { name: "Last Backup Error", jsonPath: "{.lastbackupstatus.error}" },
      { name: "Last Backup Time", jsonPath: "{.lastbackupstatus.lastbackuptime}" },
      { name: "Configuration Attempt", jsonPath: "{.lastbackupstatus.lastbackupattempt}" },
    ],
  },
  ephemeral: true,
});
