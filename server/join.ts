// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Takes machines in: reads what the decision depends on, and writes the one Link that follows from it.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { CodedError, codeOf } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { Resource } from "../cosi/resource.ts";
import type { StateCore } from "../cosi/state/core.ts";
import {
  type RandomBytes,
  randomNodeAddress,
  randomVirtualAddress,
  SERVER_ADDRESS,
  VIRTUAL_PORT,
} from "../link/addresses.ts";
import type { JoinPort, JoinReply, JoinRequest } from "../link/provision.ts";
import {
  ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN,
  ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN,
  LABEL_INFRA_PROVIDER_ID,
  LABEL_MACHINE_ADDRESS,
  LABEL_MACHINE_REQUEST,
  LABEL_VIRTUAL_ENDPOINT,
} from "../resources/labels.ts";
import { Link } from "../resources/link/link.ts";
import { LinkStatus } from "../resources/link/link_status.ts";
import { Machine } from "../resources/machine/machine.ts";
import { NodeUniqueToken } from "../resources/link/node_unique_token.ts";
import {
  type Admission,
  type AdmissionRules,
  type AdmissionVerdict,
  decideAdmission,
  type RefusalReason,
  type TokenVerdict,
} from "./admission.ts";
import type { JoinRefusals } from "./join_refusals.ts";
import { judgeToken } from "./join_tokens.ts";
import type { LinkMonitor } from "./link_monitor.ts";
import { createRateLimit } from "./rate_limit.ts";
import {
  createResource,
  decoded,
  listResources,
  peekResource,
  refOf,
  replaceResource,
} from "./typed_state.ts";

/** Counts decisions; neither token nor machine is told. */
export interface AdmissionMetrics {
  countAdmission(verdict: AdmissionVerdict): void;
  countRefusal(reason: RefusalReason | "rate"): void;
  countPersistenceMark(): void;
}

/** Options of {@linkcode createJoinPort}. */
export interface JoinOptions {
  readonly state: StateCore;
  readonly monitor: LinkMonitor;
  readonly rules: AdmissionRules;
  readonly serverPublicKey: string;
  /** `host:port` each, in the order of preference. */
  readonly serverEndpoints: readonly string[];
  readonly metrics: AdmissionMetrics;
  readonly refusals: JoinRefusals;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly log: Logger;
}

/** A site of hundreds of machines behind one address may start all of them at once. */
const RATE = { burst: 1_000, perSecond: 50, sources: 10_000 } as const;

/** Creates the port behind the provision service. */
export function createJoinPort(options: JoinOptions): JoinPort {
  const { state, monitor, metrics, log } = options;
  const turns = new Map<string, Promise<unknown>>();
  const mayAsk = createRateLimit({ ...RATE, clock: options.clock });
  return {
    join: async (request, { signal }) => {
      // Before the turn is taken: a flood with one UUID must not queue.
      if (!mayAsk(request.remoteAddress)) {
        metrics.countRefusal("rate");
        throw new CodedError("resourceExhausted", "Cannot join: too many requests, try later");
      }
      return await inTurn(turns, request.machineId, async () => {
        const { admission, ...place } = await admit(request, options);
        metrics.countAdmission(admission.verdict);
        if (admission.verdict !== "sameKey") {
          log.info("machine admitted", { machine: request.machineId, reason: admission.verdict });
        }
        await options.refusals.clear(request.machineId);
        monitor.expect(request.machineId, request.publicKey);
        await peerStands(state, request, signal);
        return replyTo(place, options);
      });
    },
  };
}

/** Requests of one machine wait for each other, so that each sees what the one before wrote. */
async function inTurn<T>(
  turns: Map<string, Promise<unknown>>,
  id: string,
  work: () => Promise<T>,
): Promise<T> {
  const turn = (turns.get(id) ?? Promise.resolve()).then(work);
  const settled = turn.catch(() => {});
  turns.set(id, settled);
  try {
    return await turn;
  } finally {
    if (turns.get(id) === settled) turns.delete(id);
  }
}

/** Where a machine is in the tunnel. */
interface Place {
  /** Its address with the length of the prefix. */
  readonly subnet: string;
  /** The name of its way over gRPC; empty for UDP. */
  readonly virtualEndpoint: string;
}

type Admitted = Admission & { readonly kind: "admit" };

/** How often a decision is made anew because the Link was written meanwhile. */
const ATTEMPTS = 5;

/** Decides and writes; what was decided on a Link that has changed since is decided again. */
async function admit(
  request: JoinRequest,
  options: JoinOptions,
): Promise<Place & { readonly admission: Admitted }> {
  const { state, metrics, log } = options;
  for (let attempt = 1;; attempt++) {
    const verdict = judgeToken(state, request.joinToken, options.clock.nowMs());
    const link = peekResource(state, Link, request.machineId);
    const admission = decide(request, verdict, link, options);
    if (admission.kind === "refuse") {
      metrics.countRefusal(admission.reason);
      log.info("machine refused", { machine: request.machineId, reason: admission.reason });
      if (admission.reason !== "joinToken") {
        await options.refusals.record(request.machineId, admission.message, request.remoteAddress);
      }
      throw new CodedError("permissionDenied", `Cannot join: ${admission.message}`);
    }
    try {
      return { admission, ...await writeLink(request, verdict, admission, link, options) };
    } catch (error) {
      const isVoid = codeOf(error) === "conflict" || codeOf(error) === "alreadyExists";
      if (!isVoid || attempt === ATTEMPTS) throw error;
    }
  }
}

function decide(
  request: JoinRequest,
  tokenVerdict: TokenVerdict,
  link: Resource<typeof Link> | undefined,
  { state, monitor, rules }: JoinOptions,
): Admission {
  const stored = peekResource(state, NodeUniqueToken, request.machineId)?.spec.token;
  return decideAdmission(
    {
      machineId: request.machineId,
      publicKey: request.publicKey,
      nodeToken: tokenInside(request.nodeToken.reveal()),
    },
    {
      tokenVerdict,
      silentMs: monitor.silentMs(request.machineId),
      ...(stored === undefined ? {} : { nodeToken: tokenInside(stored) }),
      ...(link === undefined ? {} : {
        link: {
          publicKey: link.spec.nodePublicKey,
          provenPersistent: ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN in link.metadata.annotations,
          tearingDown: link.metadata.phase === "tearingDown",
        },
      }),
    },
    rules,
  );
}

/** What is compared of a machine's token: its random part, not the hardware's fingerprint. */
function tokenInside(value: string): string {
  try {
    const { Token } = JSON.parse(value) as { Token?: unknown };
    return typeof Token === "string" ? Token : "";
  } catch {
    return "";
  }
}

async function writeLink(
  request: JoinRequest,
  verdict: TokenVerdict,
  admission: Admitted,
  link: Resource<typeof Link> | undefined,
  options: JoinOptions,
): Promise<Place> {
  const subnet = link?.spec.nodeSubnet ?? `${freeAddress(options)}/64`;
  const place = { subnet, virtualEndpoint: virtualEndpointOf(request, link, options) };
  const isSameWay = link?.spec.virtualAddrport === place.virtualEndpoint;
  if (admission.verdict === "sameKey" && isSameWay) return place;
  const annotations = { ...link?.metadata.annotations };
  if (admission.markPersistent) {
    annotations[ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN] = "";
    delete annotations[ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN];
    options.metrics.countPersistenceMark();
  }
  if (admission.reclaimed) {
    annotations[ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN] = request.publicKey;
  }
  const content = {
    labels: {
      ...link?.metadata.labels,
      ...providerLabels(verdict),
      [LABEL_VIRTUAL_ENDPOINT]: place.virtualEndpoint,
    },
    annotations,
    spec: {
      nodeSubnet: subnet,
      nodePublicKey: request.publicKey,
      lastEndpoint: link?.spec.lastEndpoint ?? "",
      // A new key has not shaken hands yet.
      connected: false,
      remoteAddr: request.remoteAddress,
      virtualAddrport: place.virtualEndpoint,
    },
  };
  if (link === undefined) await createResource(options.state, Link, request.machineId, content);
  else await replaceResource(options.state, Link, link, content);
  return place;
}

/** The name of the machine's way over gRPC, if it asks for one; the same for all its boots. */
function virtualEndpointOf(
  { overGrpc }: JoinRequest,
  link: Resource<typeof Link> | undefined,
  { random }: JoinOptions,
): string {
  if (!overGrpc) return "";
  return link?.spec.virtualAddrport || `[${randomVirtualAddress(random)}]:${VIRTUAL_PORT}`;
}

function providerLabels(verdict: TokenVerdict): Record<string, string> {
  if (verdict.kind !== "provider") return {};
  return {
    [LABEL_INFRA_PROVIDER_ID]: verdict.providerId,
    ...(verdict.requestId === "" ? {} : { [LABEL_MACHINE_REQUEST]: verdict.requestId }),
  };
}

/** An address that no machine has; 64 random bits hardly ever need a second draw. */
function freeAddress({ state, random }: JoinOptions): string {
  while (true) {
    const address = randomNodeAddress(random);
    const holders = listResources(state, Machine, { [LABEL_MACHINE_ADDRESS]: address });
    if (holders.length === 0) return address;
  }
}

/** How long a machine is kept waiting for its peer; it would otherwise retry after 5 s. */
const PEER_WAIT_MS = 4_000;

/** Waits until the device knows the machine's key, so that its first handshake is answered. */
async function peerStands(
  state: StateCore,
  { machineId, publicKey }: JoinRequest,
  signal: AbortSignal,
): Promise<void> {
  const isThere = (): boolean =>
    peekResource(state, LinkStatus, machineId)?.spec.nodePublicKey === publicKey;
  if (isThere()) return;
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(PEER_WAIT_MS)]);
  try {
    const watch = await state.watch(refOf(LinkStatus, machineId), { signal: bounded });
    for await (const events of watch) {
      const last = events.at(-1);
      if (last === undefined || last.type === "destroyed") continue;
      if (decoded(LinkStatus, last.resource).spec.nodePublicKey === publicKey) return;
    }
  } catch (error) {
    if (codeOf(error) !== "cancelled") throw error;
  }
}

function replyTo(
  { subnet, virtualEndpoint }: Place,
  { serverEndpoints, serverPublicKey }: JoinOptions,
): JoinReply {
  return {
    serverEndpoints,
    serverPublicKey,
    serverAddress: SERVER_ADDRESS,
    nodeAddressPrefix: subnet,
    virtualEndpoint,
  };
}
