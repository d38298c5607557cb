// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `InstallationMediaConfig`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { InstallationMediaConfigSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Saved choices for an installation medium. */
export const InstallationMediaConfig = defineResource({
  type: "InstallationMediaConfigs.omni.sidero.dev",
  namespace: "default",
  schema: InstallationMediaConfigSpecSchema,
  access: writable(),
});
