// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The etcd calls of the machine API.
 *
 * @module
 */

import type { MachineService } from "../proto/gen/talos/machine_pb.ts";
import type { Handlers } from "../rpc/service.ts";
import type { Boot } from "./boot.ts";
import { etcdStatus, leaveEtcd, ownEtcd } from "./etcd_member.ts";

/** Handlers for the members of the cluster that the machine belongs to. */
export function etcdHandlers(boot: Boot): Partial<Handlers<typeof MachineService>> {
  return {
    etcdMemberList: () => ({
      messages: [{
        members: ownEtcd(boot).cluster.etcd.list().map((member) => ({
          id: member.id,
          hostname: member.hostname,
          peerUrls: [member.peerUrl],
          clientUrls: [member.clientUrl],
          isLearner: member.isLearner,
        })),
      }],
    }),
    etcdStatus: () => {
      const { memberId, leader, raftTerm, raftIndex, isLearner } = etcdStatus(boot);
      return {
        messages: [{
          memberStatus: {
            memberId,
            leader,
            raftTerm,
            raftIndex,
            raftAppliedIndex: raftIndex,
            isLearner,
            protocolVersion: "3.6.4",
            storageVersion: "3.6.0",
            dbSize: 20_480n,
            dbSizeInUse: 16_384n,
          },
        }],
      };
    },
    etcdLeaveCluster: () => {
      leaveEtcd(boot);
      return { messages: [{}] };
    },
    etcdForfeitLeadership: () => {
      const { cluster, id } = ownEtcd(boot);
      return { messages: [{ member: cluster.etcd.forfeit(id) ?? "" }] };
    },
    etcdRemoveMemberByID: ({ memberId }) => {
      ownEtcd(boot).cluster.etcd.remove(memberId);
      return { messages: [{}] };
    },
    etcdAlarmList: () => {
      ownEtcd(boot);
      return { messages: [{}] };
    },
    etcdDefragment: () => {
      ownEtcd(boot);
      return { messages: [{}] };
    },
  };
}
