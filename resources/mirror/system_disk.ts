// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `SystemDisk`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SystemDiskSpecSchema } from "../../proto/gen/talos/resource/block_pb.ts";

/** Names the disk that the system is on; the ID ends in `system-disk`. */
export const TalosSystemDisk = defineResource({
  type: "SystemDisks.block.talos.dev",
  namespace: "talos-mirror",
  schema: SystemDiskSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Disk", jsonPath: "{.diskID}" }],
  },
});
