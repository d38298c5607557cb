// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `KernelCmdline`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KernelCmdlineSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/**
 * The kernel command line of the machine, which holds the join token; the ID ends in `cmdline`.
 */
export const TalosKernelCmdline = defineResource({
  type: "KernelCmdlines.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: KernelCmdlineSpecSchema,
  access: "hidden",
  display: {
    printColumns: [{ name: "Cmdline", jsonPath: "{.cmdline}" }],
  },
});
