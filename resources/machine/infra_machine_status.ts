// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraMachineStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InfraMachineStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** What a provider reports of a machine that it owns; the ID is the machine's UUID. */
export const InfraMachineStatus = defineResource({
  type: "InfraMachineStatuses.omni.sidero.dev",
  namespace: "infra-provider",
  schema: InfraMachineStatusSpecSchema,
  access: writable(),
  display: {
    displayType: "InfraMachineStatus",
    printColumns: [
      { name: "Power State", jsonPath: "{.powerstate}" },
      { name: "Ready to Use", jsonPath: "{.readytouse}" },
      { name: "Last Reboot ID", jsonPath: "{.lastrebootid}" },
      { name: "Last Reboot At", jsonPath: "{.lastreboottimestamp}" },
      { name: "Installed", jsonPath: "{.installed}" },
    ],
  },
});
