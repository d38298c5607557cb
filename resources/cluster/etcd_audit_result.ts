// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `EtcdAuditResult`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { EtcdAuditResultSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** The etcd members that the last audit removed; the ID is the cluster's name. */
export const EtcdAuditResult = defineResource({
  type: "EtcdAuditResults.omni.sidero.dev",
  namespace: "default",
  schema: EtcdAuditResultSpecSchema,
  access: "readOnly",
});
