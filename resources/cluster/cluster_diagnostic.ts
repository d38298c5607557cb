// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ClusterDiagnostic`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ClusterDiagnosticsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The machines of a cluster that report diagnostics; the ID is the cluster's name. */
export const ClusterDiagnostic = defineResource({
  type: "ClusterDiagnostics.omni.sidero.dev",
  namespace: "default",
  schema: ClusterDiagnosticsSpecSchema,
  access: "readOnly",
});
