// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdBackupStoreStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdBackupStoreStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Where backups go and whether that works; one resource. */
export const EtcdBackupStoreStatus = defineResource({
  type: "EtcdBackupStoreStatuses.omni.sidero.dev",
  namespace: "ephemeral",
  schema: EtcdBackupStoreStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "EtcdBackupStoreStatus",
    printColumns: [{ name: "Configuration Name", jsonPath: "{.configurationname}" }, {
      name: "Configuration Error",
      jsonPath: "{.configurationerror}",
    }],
  },
  ephemeral: true,
});
