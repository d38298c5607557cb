// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `BootID`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { BootIDSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/** Changes with every boot of the machine; the ID ends in `boot-id`. */
export const TalosBootID = defineResource({
  type: "BootIDs.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: BootIDSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Boot ID", jsonPath: "{.bootID}" }],
  },
});
