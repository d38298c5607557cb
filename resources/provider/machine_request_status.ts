// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineRequestStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineRequestStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** What a provider reports of a machine request; the ID is the request's. */
export const MachineRequestStatus = defineResource({
  type: "MachineRequestStatuses.omni.sidero.dev",
  namespace: "infra-provider",
  schema: MachineRequestStatusSpecSchema,
  access: writable(),
  display: {
    displayType: "MachineRequestStatus",
  },
});
