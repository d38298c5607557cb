// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `MachineStatusLabel`. @module */

import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { defineResource } from "../../cosi/resource.ts";

/** The labels of a machine alone, which selectors read; the ID is the machine's UUID. */
export const MachineStatusLabel = defineResource({
  type: "MachineStatusLabels.omni.sidero.dev",
  namespace: "default",
  schema: EmptySchema,
  access: "readOnly",
});
