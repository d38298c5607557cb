// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ImagePullRequest`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ImagePullRequestSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Images that machines shall have before an upgrade; the ID is the cluster's name. */
export const ImagePullRequest = defineResource({
  type: "ImagePullRequests.omni.sidero.dev",
  namespace: "default",
  schema: ImagePullRequestSpecSchema,
  access: "readOnly",
});
