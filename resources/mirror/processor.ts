// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Processor`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ProcessorSpecSchema } from "../../proto/gen/talos/resource/hardware_pb.ts";

/** A processor of the machine. */
export const TalosProcessor = defineResource({
  type: "Processors.hardware.talos.dev",
  namespace: "talos-mirror",
  schema: ProcessorSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Manufacturer", jsonPath: "{.manufacturer}" },
      { name: "Model", jsonPath: "{.productName}" },
      { name: "Cores", jsonPath: "{.coreCount}" },
      { name: "Threads", jsonPath: "{.threadCount}" },
    ],
  },
});
