// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Namespace`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NamespaceSpecSchema } from "../../proto/gen/cosi/meta_pb.ts";

/** A namespace of the state; the ID is its name. */
export const Namespace = defineResource({
  type: "Namespaces.meta.cosi.dev",
  namespace: "meta",
  schema: NamespaceSpecSchema,
  access: "readOnly",
  display: {
    aliases: ["ns"],
  },
  ephemeral: true,
});
