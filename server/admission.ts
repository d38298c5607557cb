// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Who may join, decided purely from the request and from what is stored.
 *
 * A join token lets a new machine in; knowing it and a UUID is not enough to take the place of a
 * machine that is alive. The place is kept by the machine's WireGuard key while that key speaks, and
 * by the node token that the server wrote into the machine once it holds one.
 *
 * @module
 */

/** What the presented join token is worth. */
export type TokenVerdict =
  | { readonly kind: "plain" }
  | { readonly kind: "provider"; readonly providerId: string; readonly requestId: string }
  | { readonly kind: "invalid"; readonly reason: string };

/** What is known when a machine asks to join. */
export interface AdmissionFacts {
  readonly tokenVerdict: TokenVerdict;
  /** The machine's Link, absent for a machine that was never seen. */
  readonly link?: {
    readonly publicKey: string;
    /** The Link says that its machine keeps its token over a reboot. */
    readonly provenPersistent: boolean;
    /** The Link is marked for removal. */
    readonly tearingDown: boolean;
  };
  /** The node token that the server assigned to this machine, absent when it assigned none. */
  readonly nodeToken?: string;
  /**
   * For how long the Link's key has not completed a handshake, in ms; `undefined` when no device can
   * tell, which counts as a key that speaks.
   */
  readonly silentMs: number | undefined;
}

/** The part of a request that the decision depends on. */
export interface AdmissionRequest {
  /** Lower case with dashes. */
  readonly machineId: string;
  readonly publicKey: string;
  /** The token inside what the machine presented; empty when it presented none. */
  readonly nodeToken: string;
}

/** The rules that a site may choose. */
export interface AdmissionRules {
  /** After this long a silent, unproven key may be replaced, in ms; at least 275,000. */
  readonly reclaimAfterMs: number;
  /** Refuses every other token and its absence, however long the key was silent. */
  readonly strict: boolean;
}

/** Why a machine was refused: a label of a metric, so a closed list. */
export type RefusalReason =
  | "joinToken"
  | "commonUuid"
  | "tearingDown"
  | "nodeTokenAbsent"
  | "nodeTokenOther"
  | "keyAlive";

/** How a machine was admitted: a label of a metric, so a closed list. */
export type AdmissionVerdict = "new" | "sameKey" | "nodeToken" | "reclaimed";

/** The decision. */
export type Admission =
  | {
    readonly kind: "admit";
    readonly verdict: AdmissionVerdict;
    /** The machine proved that its token survives a reboot. */
    readonly markPersistent: boolean;
    /** The machine took the place of a silent key without a token: its old token is void. */
    readonly reclaimed: boolean;
  }
  | { readonly kind: "refuse"; readonly reason: RefusalReason; readonly message: string };

/** Decides on one request. Pure: no I/O, no clock. */
export function decideAdmission(
  request: AdmissionRequest,
  facts: AdmissionFacts,
  rules: AdmissionRules,
): Admission {
  const { tokenVerdict, link } = facts;
  if (tokenVerdict.kind === "invalid") return refuse("joinToken", tokenVerdict.reason);
  if (!isDistinct(request.machineId)) {
    return refuse(
      "commonUuid",
      "its SMBIOS UUID is one that many boards share: set one of its own",
    );
  }
  if (link === undefined) return admit("new");
  if (link.tearingDown) {
    return refuse("tearingDown", "the machine is being removed: try again later");
  }
  // The key of the present boot: a token may have been assigned to it and not yet have arrived.
  if (link.publicKey === request.publicKey) return admit("sameKey");
  return decideKeyChange(request, { ...facts, link }, rules);
}

/** UUIDs that boards ship with whose maker set none. */
const COMMON_UUIDS: ReadonlySet<string> = new Set([
  "00000000-0000-0000-0000-000000000000",
  "ffffffff-ffff-ffff-ffff-ffffffffffff",
  "03000200-0400-0500-0006-000700080009",
  "00020003-0004-0005-0006-000700080009",
  "12345678-1234-5678-90ab-cddeefaabbcc",
  "fefefefe-fefe-fefe-fefe-fefefefefefe",
]);

function isDistinct(machineId: string): boolean {
  return !COMMON_UUIDS.has(machineId);
}

function decideKeyChange(
  request: AdmissionRequest,
  { link, nodeToken, silentMs }: AdmissionFacts & { readonly link: { provenPersistent: boolean } },
  { reclaimAfterMs, strict }: AdmissionRules,
): Admission {
  const isSilent = silentMs !== undefined && silentMs >= reclaimAfterMs;
  if (nodeToken !== undefined) {
    if (request.nodeToken === nodeToken) return admit("nodeToken", { markPersistent: true });
    if (link.provenPersistent || strict) return refuseToken(request.nodeToken);
    return isSilent ? admit("reclaimed", { reclaimed: true }) : refuseToken(request.nodeToken);
  }
  if (isSilent) return admit("reclaimed", { reclaimed: true });
  return refuse("keyAlive", "another machine with this UUID is connected");
}

function refuseToken(presented: string): Admission {
  return presented === ""
    ? refuse("nodeTokenAbsent", "the machine has a node token and none was presented")
    : refuse("nodeTokenOther", "the node token is not the one of this machine");
}

function admit(
  verdict: AdmissionVerdict,
  marks: { markPersistent?: boolean; reclaimed?: boolean } = {},
): Admission {
  const { markPersistent = false, reclaimed = false } = marks;
  return { kind: "admit", verdict, markPersistent, reclaimed };
}

function refuse(reason: RefusalReason, message: string): Admission {
  return { kind: "refuse", reason, message };
}
