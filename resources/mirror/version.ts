// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Version`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { VersionSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/** The version of the machine's system; the ID ends in `version`. */
export const TalosVersion = defineResource({
  type: "Versions.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: VersionSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Name", jsonPath: "{.name}" }, {
      name: "Version",
      jsonPath: "{.version}",
    }],
  },
});
