// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Controller`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ControllerSpecSchema } from "../../proto/gen/batuta/engine_pb.ts";

/** What a running controller reads and writes; the ID is its name. */
export const Controller = defineResource({
  type: "Controllers.batuta.altlinux.org",
  namespace: "ephemeral",
  schema: ControllerSpecSchema,
  access: "readOnly",
  display: {
    displayType: "Controller",
    printColumns: [
      { name: "Shape", jsonPath: "{.shape}" },
      { name: "Primary", jsonPath: "{.primary.type}" },
      { name: "Output", jsonPath: "{.output.type}" },
    ],
  },
  ephemeral: true,
});
