// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KernelArg`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KernelArgsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { unsupported } from "../rules.ts";

/** Additional kernel arguments that the user wants; the ID is the machine's UUID. */
export const KernelArg = defineResource({
  type: "KernelArgs.omni.sidero.dev",
  namespace: "default",
  schema: KernelArgsSpecSchema,
  access: writable(unsupported(
    "is not supported yet: kernel arguments come with the image that a machine is installed from",
  )),
  display: {
    printColumns: [{ name: "Args", jsonPath: "{.args}" }],
  },
});
