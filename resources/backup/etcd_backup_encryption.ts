// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdBackupEncryption`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdBackupEncryptionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The key that a cluster's backups are encrypted with; the ID is the cluster's name. */
export const EtcdBackupEncryption = defineResource({
  type: "EtcdBackupEncryptions.omni.sidero.dev",
  namespace: "default",
  schema: EtcdBackupEncryptionSpecSchema,
  access: "hidden",
});
