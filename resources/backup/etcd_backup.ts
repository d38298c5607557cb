// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdBackup`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdBackupSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A backup that the store holds. */
export const EtcdBackup = defineResource({
  type: "EtcdBackups.omni.sidero.dev",
  namespace: "external",
  schema: EtcdBackupSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Created At", jsonPath: "{.createdat}" }, {
      name: "Snapshot",
      jsonPath: "{.snapshot}",
    }],
  },
  ephemeral: true,
});
