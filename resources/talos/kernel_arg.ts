// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KernelArg`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KernelArgsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Additional kernel arguments that the user wants; the ID is the machine's UUID. */
export const KernelArg = defineResource({
  type: "KernelArgs.omni.sidero.dev",
  namespace: "default",
  schema: KernelArgsSpecSchema,
  access: writable(),
  display: {
    printColumns: [{ name: "Args", jsonPath: "{.args}" }],
  },
});
