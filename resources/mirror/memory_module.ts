// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `MemoryModule`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MemoryModuleSpecSchema } from "../../proto/gen/talos/resource/hardware_pb.ts";

/** A memory module of the machine. */
export const TalosMemoryModule = defineResource({
  type: "MemoryModules.hardware.talos.dev",
  namespace: "talos-mirror",
  schema: MemoryModuleSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Manufacturer", jsonPath: "{.manufacturer}" }, {
      name: "Model",
      jsonPath: "{.productName}",
    }, { name: "SizeMiB", jsonPath: "{.sizeMiB}" }],
  },
});
