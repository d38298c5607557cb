// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `Diagnostic`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { DiagnosticSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/** A problem that the machine found in itself. */
export const TalosDiagnostic = defineResource({
  type: "Diagnostics.runtime.talos.dev",
  namespace: "talos-mirror",
  schema: DiagnosticSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Message", jsonPath: "{.message}" }],
  },
});
