// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `SystemInformation`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SystemInformationSpecSchema } from "../../proto/gen/talos/resource/hardware_pb.ts";

/** What the firmware says of the machine: maker, product, UUID. */
export const TalosSystemInformation = defineResource({
  type: "SystemInformations.hardware.talos.dev",
  namespace: "talos-mirror",
  schema: SystemInformationSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Manufacturer", jsonPath: "{.manufacturer}" },
      { name: "ProductName", jsonPath: "{.productName}" },
      { name: "Version", jsonPath: "{.version}" },
      { name: "SerialNumber", jsonPath: "{.serialnumber}" },
      { name: "UUID", jsonPath: "{.uuid}" },
      { name: "WakeUpType", jsonPath: "{.wakeUpType}" },
      { name: "SKUNumber", jsonPath: "{.skuNumber}" },
    ],
  },
});
