// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `LabelsCompletion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { LabelsCompletionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Labels that are in use, for completion. */
export const LabelsCompletion = defineResource({
  type: "LabelsCompletions.omni.sidero.dev",
  namespace: "virtual",
  schema: LabelsCompletionSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
