// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Assigns a node token to every machine that can keep one.
 *
 * The token is stored before it is written into the machine: a write whose answer was lost must not
 * leave a machine with a token that nobody knows.
 *
 * @module
 */

import { createHash } from "node:crypto";
import {
  byLabel,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import {
  ANNOTATION_NODE_TOKEN_KEY,
  ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN,
  LABEL_MIRROR_MACHINE,
} from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { NodeUniqueToken } from "../../resources/link/node_unique_token.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { TalosLinkStatus } from "../../resources/mirror/link_status.ts";
import { TalosVersion } from "../../resources/mirror/version.ts";
import { formatMac, isPhysical } from "../machine/inventory.ts";
import { talosMinor } from "../talos/version.ts";

/** What the assignment depends on besides the machine. */
export interface NodeTokenFacts {
  readonly link: Resource<typeof Link> | undefined;
  readonly current: Resource<typeof NodeUniqueToken> | undefined;
  readonly version: Resource<typeof TalosVersion> | undefined;
  readonly links: readonly Resource<typeof TalosLinkStatus>[];
}

/** A new token is needed; its fingerprint names the hardware that it is made for. */
export interface NewNodeToken {
  readonly fingerprint: string;
}

/** What the assignment of tokens needs of the outside. */
export interface NodeTokenPort {
  /** Makes a random token. */
  readonly newToken: () => string;
  /** Counts an assignment: the machine's first token, or one in place of a lost one. */
  readonly onTokenAssigned: (kind: "first" | "replacement") => void;
}

/** Creates the controller. */
export function nodeTokenController({ newToken, onTokenAssigned }: NodeTokenPort): Controller {
  return defineController({
    name: "link.NodeTokenController",
    primary: Machine,
    mapped: [
      sameId(Link),
      sameId(NodeUniqueToken),
      byLabel(TalosVersion, LABEL_MIRROR_MACHINE),
      byLabel(TalosLinkStatus, LABEL_MIRROR_MACHINE),
    ],
    output: NodeUniqueToken,
    gather: gatherNodeTokenFacts,
    plan: planNodeToken,
    act: (_machine, { fingerprint }, { facts }) => {
      onTokenAssigned(facts.current === undefined ? "first" : "replacement");
      return Promise.resolve({ token: tokenValue(fingerprint, newToken()) });
    },
  });
}

type Inputs = typeof Link | typeof NodeUniqueToken | typeof TalosVersion | typeof TalosLinkStatus;

async function gatherNodeTokenFacts(
  { metadata: { id } }: Resource<typeof Machine>,
  reader: Reader<Inputs>,
): Promise<NodeTokenFacts> {
  const labels = { [LABEL_MIRROR_MACHINE]: id };
  const [link, current, versions, links] = await Promise.all([
    reader.find(Link, id),
    reader.find(NodeUniqueToken, id),
    reader.list(TalosVersion, { labels }),
    reader.list(TalosLinkStatus, { labels }),
  ]);
  return { link, current, version: versions[0], links };
}

/** The first Talos release that keeps a node token is 1.6. */
const FIRST_MINOR = 6;

/** Decides whether the machine keeps its token or needs a new one. */
export function planNodeToken(
  _machine: Resource<typeof Machine>,
  { link, current, version, links }: NodeTokenFacts,
): Plan<typeof NodeUniqueToken, NewNodeToken> {
  if (link === undefined) return wait("the machine has no link");
  const key = link.spec.nodePublicKey;
  if (current !== undefined && !isVoid(current, link)) {
    return { kind: "write", spec: current.spec, annotations: current.metadata.annotations };
  }
  if (version === undefined) return wait("the machine's Talos version is not known yet");
  if (talosMinor(version.spec.version) < FIRST_MINOR) {
    return { kind: "destroy", reason: `Talos ${version.spec.version} keeps no node token` };
  }
  return {
    kind: "write",
    spec: {},
    action: { fingerprint: fingerprintOf(links) },
    annotations: { [ANNOTATION_NODE_TOKEN_KEY]: key },
  };
}

/** A machine that came back under another key without its token does not have it any more. */
function isVoid(
  token: Resource<typeof NodeUniqueToken>,
  link: Resource<typeof Link>,
): boolean {
  const reclaimedBy = link.metadata.annotations[ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN];
  return reclaimedBy === link.spec.nodePublicKey &&
    token.metadata.annotations[ANNOTATION_NODE_TOKEN_KEY] !== reclaimedBy;
}

/** SHA-256 over the sorted hardware addresses of the physical links, in hexadecimal. */
export function fingerprintOf(links: readonly Resource<typeof TalosLinkStatus>[]): string {
  const addresses = links.map(({ spec }) => spec).filter(isPhysical).map((spec) =>
    formatMac(spec.permanentAddr.length > 0 ? spec.permanentAddr : spec.hardwareAddr)
  );
  return createHash("sha256").update(addresses.sort().join("\n")).digest("hex");
}

function tokenValue(fingerprint: string, token: string): string {
  return JSON.stringify({ Fingerprint: fingerprint, Token: token });
}
