// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdBackupS3Config`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdBackupS3ConfSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** The bucket that backups go to, with its credentials; one resource. */
export const EtcdBackupS3Config = defineResource({
  type: "EtcdBackupS3Configs.omni.sidero.dev",
  namespace: "default",
  schema: EtcdBackupS3ConfSpecSchema,
  access: writable(),
  display: {
    printColumns: [
      { name: "Bucket", jsonPath: "{.bucket}" },
      { name: "Region", jsonPath: "{.region}" },
      { name: "Endpoint", jsonPath: "{.endpoint}" },
      { name: "Access Key ID", jsonPath: "{.accesskeyid}" },
      { name: "Session Token", jsonPath: "{.sessiontoken}" },
    ],
    sensitive: true,
  },
});
