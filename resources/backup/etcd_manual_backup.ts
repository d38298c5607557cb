// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdManualBackup`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdManualBackupSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Asks for a backup at once; the ID is the cluster's name. */
export const EtcdManualBackup = defineResource({
  type: "EtcdManualBackups.omni.sidero.dev",
  namespace: "ephemeral",
  schema: EtcdManualBackupSpecSchema,
  access: writable(),
  display: {
    printColumns: [{ name: "Backup At", jsonPath: "{.backupat}" }],
  },
  ephemeral: true,
});
