// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `PlatformMetadata`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { PlatformMetadataSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/**
 * What the platform says of the machine: region, zone, instance; the ID ends in `platformmetadata`.
 */
export const TalosPlatformMetadata = defineResource({
  type: "PlatformMetadatas.talos.dev",
  namespace: "talos-mirror",
  schema: PlatformMetadataSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "Platform", jsonPath: "{.platform}" },
      { name: "Type", jsonPath: "{.instanceType}" },
      { name: "Region", jsonPath: "{.region}" },
      { name: "Zone", jsonPath: "{.zone}" },
    ],
  },
});
