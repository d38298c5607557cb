// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ResourceDefinition`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ResourceDefinitionSpecSchema } from "../../proto/gen/cosi/meta_pb.ts";

/** How a type is named and shown; the ID is the type in lower case. */
export const ResourceDefinition = defineResource({
  type: "ResourceDefinitions.meta.cosi.dev",
  namespace: "meta",
  schema: ResourceDefinitionSpecSchema,
  access: "readOnly",
  display: {
    aliases: ["api-resources"],
    printColumns: [{ name: "Aliases", jsonPath: "{.aliases[:]}" }],
  },
  ephemeral: true,
});
