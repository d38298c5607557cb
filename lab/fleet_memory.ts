// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a fleet keeps between two runs of its program: the disks of its machines, and who is a member
 * of which etcd.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { Installation, SystemDisk } from "./disk.ts";
import type { EtcdMember } from "./etcd_cluster.ts";
import { isTree } from "./machine_config.ts";
import type { World } from "./world.ts";

/** The disks of a fleet by UUID, and its clusters by ID. */
export interface FleetMemory {
  readonly disks: ReadonlyMap<string, SystemDisk>;
  readonly clusters: ReadonlyMap<string, readonly EtcdMember[]>;
}

/** Nothing at all: a fleet that never ran. */
export const EMPTY_MEMORY: FleetMemory = { disks: new Map(), clusters: new Map() };

/** A disk as JSON can hold it. */
interface StoredDisk {
  readonly installation?: Installation;
  readonly meta: readonly (readonly [number, string])[];
  readonly config?: string;
  readonly stagedConfig?: string;
  readonly etcdMemberId?: string;
}

interface StoredMemory {
  readonly disks: Readonly<Record<string, StoredDisk>>;
  readonly clusters: Readonly<Record<string, readonly (Omit<EtcdMember, "id"> & { id: string })[]>>;
}

/** Writes a memory as text. */
export function encodeMemory({ disks, clusters }: FleetMemory): string {
  const stored: StoredMemory = {
    disks: Object.fromEntries(
      [...disks].map(([uuid, { meta, etcdMemberId, ...rest }]) => [uuid, {
        ...rest,
        meta: [...meta],
        ...(etcdMemberId === undefined ? {} : { etcdMemberId: String(etcdMemberId) }),
      }]),
    ),
    clusters: Object.fromEntries(
      [...clusters].map(([id, members]) => [
        id,
        members.map((member) => ({ ...member, id: String(member.id) })),
      ]),
    ),
  };
  return JSON.stringify(stored);
}

/**
 * Reads what {@linkcode encodeMemory} wrote.
 *
 * @throws CodedError `invalidArgument` when it is something else.
 */
export function decodeMemory(text: string): FleetMemory {
  try {
    const stored: unknown = JSON.parse(text);
    if (!isTree(stored) || !isTree(stored.disks) || !isTree(stored.clusters)) {
      throw new TypeError("it holds no disks and clusters");
    }
    const { disks, clusters } = stored as unknown as StoredMemory;
    return {
      disks: new Map(
        Object.entries(disks).map(([uuid, { meta, etcdMemberId, ...rest }]) => [uuid, {
          ...rest,
          meta: new Map(meta),
          ...(etcdMemberId === undefined ? {} : { etcdMemberId: BigInt(etcdMemberId) }),
        }]),
      ),
      clusters: new Map(
        Object.entries(clusters).map(([id, members]) => [
          id,
          members.map((member) => ({ ...member, id: BigInt(member.id) })),
        ]),
      ),
    };
  } catch (cause) {
    throw new CodedError("invalidArgument", "Cannot read the memory of a fleet", { cause });
  }
}

/** The members of every etcd of a world. */
export function clustersOf(world: World): Map<string, readonly EtcdMember[]> {
  return new Map(
    [...world.clusters()].map(([id, { etcd }]): [string, readonly EtcdMember[]] => [
      id,
      etcd.members(),
    ]).filter(([, members]) => members.length > 0),
  );
}
