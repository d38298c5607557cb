// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InfraMachineRegistration`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MachineRegistrationSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Tells a provider which machine joined for which request; the ID is the machine's UUID. */
export const InfraMachineRegistration = defineResource({
  type: "InfraMachineRegistrations.omni.sidero.dev",
  namespace: "infra-provider",
  schema: MachineRegistrationSpecSchema,
  access: "readOnly",
});
