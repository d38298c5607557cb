// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ExtensionsConfiguration`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ExtensionsConfigurationSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";
import { unsupported } from "../rules.ts";

/** System extensions that the user wants, by scope. */
export const ExtensionsConfiguration = defineResource({
  type: "ExtensionsConfigurations.omni.sidero.dev",
  namespace: "default",
  schema: ExtensionsConfigurationSpecSchema,
  access: writable(unsupported(
    "is not supported yet: extensions come with the image that a machine is installed from",
  )),
});
