// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The copies of machines' resources in the state: same type and spec, the ID `<machine>/<ID>`.
 *
 * @module
 */

import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { codeOf } from "../base/errors.ts";
import type { Metadata, Ref } from "../cosi/resource.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { LinkStatusSpecSchema } from "../proto/gen/talos/resource/network_pb.ts";
import { VersionSpecSchema } from "../proto/gen/talos/resource/runtime_pb.ts";
import { LABEL_MIRROR_MACHINE } from "../resources/labels.ts";
import { TalosLinkStatus } from "../resources/mirror/link_status.ts";
import { MIRRORED } from "../resources/mirror/mirrored.ts";
import { TalosVersion } from "../resources/mirror/version.ts";
import { TALOS_MIRROR_NAMESPACE } from "../resources/namespaces.ts";
import type { TalosVersionAnswer } from "../talos/api.ts";
import type { MirroredKind, MirroredResource, MirrorEvent } from "../talos/mirror.ts";
import { selectionOf } from "./typed_state.ts";

/** Owns all copies. Stored: a rename is a migration. */
const OWNER = "talos.Mirror";

/** Writes copies. */
export interface MirrorCopies {
  /** @param askVersion Is called for a machine that has no resource of its version. */
  apply(
    machine: string,
    events: readonly MirrorEvent[],
    askVersion: () => Promise<TalosVersionAnswer>,
  ): Promise<void>;
  removeMachine(machine: string): Promise<void>;
}

/** Creates a writer; events of one machine are applied one batch after the other. */
export function createMirrorCopies(state: StateCore): MirrorCopies {
  const put = (machine: string, resource: MirroredResource): Promise<void> =>
    putCopy(state, machine, resource);
  const remove = (ref: Ref): Promise<void> => removeCopy(state, ref);
  const idsOf = (machine: string, type: string): readonly string[] =>
    state.snapshot(
      { namespace: TALOS_MIRROR_NAMESPACE, type },
      selectionOf({ [LABEL_MIRROR_MACHINE]: machine }),
    ).map(({ metadata }) => metadata.id);
  const applySnapshot = async (
    machine: string,
    { type }: MirroredKind,
    resources: readonly MirroredResource[],
  ): Promise<void> => {
    const present = new Set(resources.map(({ id }) => `${machine}/${id}`));
    const gone = idsOf(machine, type).filter((id) => !present.has(id));
    await Promise.all([
      ...resources.map((resource) => put(machine, resource)),
      ...gone.map((id) => remove({ namespace: TALOS_MIRROR_NAMESPACE, type, id })),
    ]);
  };
  return {
    apply: async (machine, events, askVersion) => {
      for (const event of events) {
        if (event.kind === "put") await put(machine, event.resource);
        else if (event.kind === "snapshot") {
          await applySnapshot(machine, event.of, event.resources);
        } else if (event.kind === "gone") {
          const { type } = event.of;
          const id = `${machine}/${event.id}`;
          await remove({ namespace: TALOS_MIRROR_NAMESPACE, type, id });
        } else if (event.kind === "absent" && event.of.type === TalosVersion.type) {
          await put(machine, versionResource(await askVersion()));
        } else if (event.kind === "absent") await applySnapshot(machine, event.of, []);
      }
    },
    removeMachine: async (machine) => {
      await Promise.all(
        MIRRORED.flatMap(({ type }) =>
          idsOf(machine, type).map((id) => remove({ namespace: TALOS_MIRROR_NAMESPACE, type, id }))
        ),
      );
    },
  };
}

async function putCopy(state: StateCore, machine: string, source: MirroredResource): Promise<void> {
  const resource = withoutKeys(source);
  const ref = {
    namespace: TALOS_MIRROR_NAMESPACE,
    type: resource.type,
    id: `${machine}/${resource.id}`,
  };
  const stored = state.peek(ref);
  const { protoSpec, yamlSpec } = resource;
  if (stored === undefined) {
    const metadata: Metadata = {
      ...ref,
      version: 0,
      owner: OWNER,
      phase: "running",
      created: undefined,
      updated: undefined,
      finalizers: [],
      labels: { [LABEL_MIRROR_MACHINE]: machine },
      annotations: {},
    };
    await state.create({ metadata, protoSpec, yamlSpec }, { owner: OWNER });
    return;
  }
  if (isEqual(stored.protoSpec, protoSpec) && stored.yamlSpec === yamlSpec) return;
  await state.update({ metadata: stored.metadata, protoSpec, yamlSpec }, { owner: OWNER });
}

async function removeCopy(state: StateCore, ref: Ref): Promise<void> {
  try {
    await state.destroy(ref, { owner: OWNER });
  } catch (error) {
    if (codeOf(error) !== "notFound") throw error;
  }
}

/** A link of a machine carries the keys of its tunnels, which have no place outside the machine. */
function withoutKeys(resource: MirroredResource): MirroredResource {
  if (resource.type !== TalosLinkStatus.type) return resource;
  const spec = fromBinary(LinkStatusSpecSchema, resource.protoSpec);
  if (spec.wireguard === undefined) return resource;
  spec.wireguard.privateKey = "";
  for (const peer of spec.wireguard.peers) peer.presharedKey = "";
  // The machine's own text holds the keys as well: it is made anew from the message.
  return { ...resource, protoSpec: toBinary(LinkStatusSpecSchema, spec), yamlSpec: "" };
}

function versionResource({ tag }: TalosVersionAnswer): MirroredResource {
  return {
    namespace: "runtime",
    type: TalosVersion.type,
    id: "version",
    labels: {},
    protoSpec: toBinary(VersionSpecSchema, create(VersionSpecSchema, { version: tag })),
    yamlSpec: "",
  };
}

function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}
