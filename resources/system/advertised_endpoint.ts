// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `AdvertisedEndpoint`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { AdvertisedEndpointsSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** Where clients reach the API; one resource. */
export const AdvertisedEndpoint = defineResource({
  type: "AdvertisedEndpoints.omni.sidero.dev",
  namespace: "virtual",
  schema: AdvertisedEndpointsSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "gRPC API URL", jsonPath: "{.grpcapiurl}" }],
  },
  ephemeral: true,
});
