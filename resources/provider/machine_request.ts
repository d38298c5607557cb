// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineRequest`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineRequestSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { validateMachineRequest } from "./machine_request_rules.ts";

/** One machine wanted of a provider. */
export const MachineRequest = defineResource({
  type: "MachineRequests.omni.sidero.dev",
  namespace: "infra-provider",
  schema: MachineRequestSpecSchema,
  access: writable(validateMachineRequest),
  display: {
    printColumns: [{ name: "Talos Version", jsonPath: "{.talosversion}" }],
  },
});
