// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writes the node token into the machine's META and tells whether the machine is known to keep it.
 *
 * @module
 */

import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { NodeUniqueTokenStatusSpec_State } from "../../proto/gen/omni/specs_pb.ts";
import {
  ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN,
  ANNOTATION_NODE_TOKEN_KEY,
} from "../../resources/labels.ts";
import type { Link } from "../../resources/link/link.ts";
import { NodeUniqueToken } from "../../resources/link/node_unique_token.ts";
import { NodeUniqueTokenStatus } from "../../resources/link/node_unique_token_status.ts";
import { Machine } from "../../resources/machine/machine.ts";
import type { TalosApi } from "../../talos/api.ts";
import type { TalosTarget } from "../../talos/target.ts";
import { gatherTargetFacts, TARGET_INPUTS, type TargetInput, targetOf } from "../talos/target.ts";

/** What the decision depends on besides the token. */
export interface NodeTokenStatusFacts {
  readonly link: Resource<typeof Link> | undefined;
  readonly status: Resource<typeof NodeUniqueTokenStatus> | undefined;
  /** Absent while the machine cannot be called. */
  readonly target: TalosTarget | undefined;
}

/** Writes a token into a machine. */
export interface WriteNodeToken {
  readonly target: TalosTarget;
}

/** The key of META that holds the node token. */
const META_NODE_TOKEN = 0x10;

/** Creates the controller. */
export function nodeTokenStatusController(
  { talos }: { readonly talos: Pick<TalosApi, "metaWrite"> },
): Controller {
  return defineController({
    name: "link.NodeTokenStatusController",
    primary: NodeUniqueToken,
    mapped: [sameId(NodeUniqueTokenStatus), ...TARGET_INPUTS],
    output: NodeUniqueTokenStatus,
    gather: gatherNodeTokenStatusFacts,
    plan: planNodeTokenStatus,
    act: (token, { target }, { signal }) =>
      talos.metaWrite(target, META_NODE_TOKEN, new TextEncoder().encode(token.spec.token), {
        signal,
      }),
  });
}

async function gatherNodeTokenStatusFacts(
  { metadata: { id } }: Resource<typeof NodeUniqueToken>,
  reader: Reader<TargetInput | typeof NodeUniqueTokenStatus>,
): Promise<NodeTokenStatusFacts> {
  const [status, machine, targetFacts] = await Promise.all([
    reader.find(NodeUniqueTokenStatus, id),
    reader.find(Machine, id),
    gatherTargetFacts(id, reader),
  ]);
  const target = machine?.spec.connected === true ? targetOf(machine, targetFacts) : undefined;
  return { link: targetFacts.link, status, target };
}

/** Decides whether the token must be written and how sure it is that the machine keeps it. */
export function planNodeTokenStatus(
  token: Resource<typeof NodeUniqueToken>,
  { link, status, target }: NodeTokenStatusFacts,
): Plan<typeof NodeUniqueTokenStatus, WriteNodeToken> {
  if (link === undefined) return wait("the machine has no link");
  // The machine has presented the token after a reboot: nothing is left to write.
  if (link.metadata.annotations[ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN] !== undefined) {
    return { kind: "write", spec: { state: NodeUniqueTokenStatusSpec_State.PERSISTENT } };
  }
  const boot = link.spec.nodePublicKey;
  // Whoever came back without its token is about to be assigned another one.
  if (token.metadata.annotations[ANNOTATION_NODE_TOKEN_KEY] !== boot) {
    return wait("the machine has no node token for this boot yet");
  }
  const written = {
    spec: { state: NodeUniqueTokenStatusSpec_State.EPHEMERAL },
    annotations: { [ANNOTATION_NODE_TOKEN_KEY]: boot },
  };
  if (status?.metadata.annotations[ANNOTATION_NODE_TOKEN_KEY] === boot) {
    return { kind: "write", ...written };
  }
  if (target === undefined) return wait("the machine cannot be reached to write its node token");
  return { kind: "write", ...written, action: { target } };
}
