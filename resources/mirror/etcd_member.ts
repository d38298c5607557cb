// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `EtcdMember`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { MemberSpecSchema } from "../../proto/gen/talos/resource/etcd_pb.ts";

/** The machine's member of etcd; the ID ends in `local`. */
export const TalosEtcdMember = defineResource({
  type: "EtcdMembers.etcd.talos.dev",
  namespace: "talos-mirror",
  schema: MemberSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Member ID", jsonPath: "{.memberID}" }],
  },
});
