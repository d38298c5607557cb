// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `TalosVersion`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { TalosVersionSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/**
 * A version that clusters may have, with the versions of Kubernetes it runs; the ID is the version.
 */
export const TalosVersion = defineResource({
  type: "TalosVersions.omni.sidero.dev",
  namespace: "default",
  schema: TalosVersionSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Kubernetes Versions", jsonPath: "{.compatiblekubernetesversions}" }],
  },
});
