// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Disk`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DiskSpecSchema } from "../../proto/gen/talos/resource/block_pb.ts";

/** A disk of the machine; the ID ends in its name. */
export const TalosDisk = defineResource({
  type: "Disks.block.talos.dev",
  namespace: "talos-mirror",
  schema: DiskSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Size", jsonPath: "{.pretty_size}" },
      { name: "Read Only", jsonPath: "{.readonly}" },
      { name: "Transport", jsonPath: "{.transport}" },
      { name: "Rotational", jsonPath: "{.rotational}" },
      { name: "WWID", jsonPath: "{.wwid}" },
      { name: "Model", jsonPath: "{.model}" },
      { name: "Serial", jsonPath: "{.serial}" },
    ],
  },
});
