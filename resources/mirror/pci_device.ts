// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `PCIDevice`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PCIDeviceSpecSchema } from "../../proto/gen/talos/resource/hardware_pb.ts";

/** A PCI device of the machine. */
export const TalosPCIDevice = defineResource({
  type: "PCIDevices.hardware.talos.dev",
  namespace: "talos-mirror",
  schema: PCIDeviceSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Class", jsonPath: "{.class}" },
      { name: "Subclass", jsonPath: "{.subclass}" },
      { name: "Vendor", jsonPath: "{.vendor}" },
      { name: "Product", jsonPath: "{.product}" },
    ],
  },
});
