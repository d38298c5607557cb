// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterMachineEncryptionKey`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterMachineEncryptionKeySpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The key that seals a machine's encrypted disks; the ID is the machine's UUID. */
export const ClusterMachineEncryptionKey = defineResource({
  type: "ClusterMachineEncryptionKeys.omni.sidero.dev",
  namespace: "default",
  schema: ClusterMachineEncryptionKeySpecSchema,
  access: "hidden",
});
