// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ImageFactoryAuth`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ImageFactoryAuthSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Credentials for the image factory; one resource. */
export const ImageFactoryAuth = defineResource({
  type: "ImageFactoryAuths.omni.sidero.dev",
  namespace: "default",
  schema: ImageFactoryAuthSpecSchema,
  access: "hidden",
  display: {
    printColumns: [{ name: "Username", jsonPath: "{.username}" }],
  },
});
