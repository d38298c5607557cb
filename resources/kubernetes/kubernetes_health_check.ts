// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `KubernetesHealthCheck`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { KubernetesHealthCheckSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** A job that must succeed before the next machine is upgraded. */
export const KubernetesHealthCheck = defineResource({
  type: "KubernetesHealthChecks.omni.sidero.dev",
  namespace: "default",
  schema: KubernetesHealthCheckSpecSchema,
  access: writable(),
});
