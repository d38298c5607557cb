// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ImagePullStatus`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ImagePullStatusSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** How far the images of an upgrade are pulled; the ID is the cluster's name. */
export const ImagePullStatus = defineResource({
  type: "ImagePullStatuses.omni.sidero.dev",
  namespace: "default",
  schema: ImagePullStatusSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ImagePullStatus",
    printColumns: [
      { name: "Processed", jsonPath: "{.processedcount}" },
      { name: "Total", jsonPath: "{.totalcount}" },
      { name: "Last Node", jsonPath: "{.lastprocessednode}" },
      { name: "Last Image", jsonPath: "{.lastprocessedimage}" },
      { name: "Last Error", jsonPath: "{.lastprocessederror}" },
      { name: "Request Version", jsonPath: "{.requestversion}" },
    ],
  },
});
