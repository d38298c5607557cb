// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InstallationMedia`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InstallationMediaSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A kind of installation medium. */
export const InstallationMedia = defineResource({
  type: "InstallationMedias.omni.sidero.dev",
  namespace: "ephemeral",
  schema: InstallationMediaSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
