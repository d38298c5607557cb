// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import {
  type AdmissionFacts,
  type AdmissionRequest,
  type AdmissionRules,
  type AdmissionVerdict,
  decideAdmission,
  type RefusalReason,
} from "./admission.ts";

const RULES: AdmissionRules = { reclaimAfterMs: 600_000, strict: false };
const STRICT: AdmissionRules = { ...RULES, strict: true };
const MACHINE = { machineId: "1d4f0c6e-0000-4000-8000-000000000001" };
const OLD_KEY = { ...MACHINE, publicKey: "old", nodeToken: "" };
const NEW_KEY = { ...MACHINE, publicKey: "new", nodeToken: "" };
const NEW_KEY_WITH_TOKEN = { ...MACHINE, publicKey: "new", nodeToken: "T" };
const NEW_KEY_OTHER_TOKEN = { ...MACHINE, publicKey: "new", nodeToken: "other" };

const PLAIN: AdmissionFacts = { tokenVerdict: { kind: "plain" }, silentMs: 0 };
const LINK = { publicKey: "old", provenPersistent: false, tearingDown: false };
const KNOWN: AdmissionFacts = { ...PLAIN, link: LINK };
const TOKEN: AdmissionFacts = { ...KNOWN, nodeToken: "T" };
const PROVEN: AdmissionFacts = { ...TOKEN, link: { ...LINK, provenPersistent: true } };

function silent(facts: AdmissionFacts, silentMs: number | undefined): AdmissionFacts {
  return { ...facts, silentMs };
}

interface Case {
  readonly name: string;
  readonly request: AdmissionRequest;
  readonly facts: AdmissionFacts;
  readonly rules?: AdmissionRules;
  readonly want:
    | { readonly admit: AdmissionVerdict; readonly marks?: "persistent" | "reclaimed" }
    | { readonly refuse: RefusalReason };
}

const CASES: readonly Case[] = [
  {
    name: "refuses an invalid join token whatever else holds",
    request: NEW_KEY_WITH_TOKEN,
    facts: { ...TOKEN, tokenVerdict: { kind: "invalid", reason: "no" } },
    want: { refuse: "joinToken" },
  },
  {
    name: "refuses a UUID that many boards share",
    request: { ...NEW_KEY, machineId: "ffffffff-ffff-ffff-ffff-ffffffffffff" },
    facts: PLAIN,
    want: { refuse: "commonUuid" },
  },
  { name: "admits a machine never seen", request: NEW_KEY, facts: PLAIN, want: { admit: "new" } },
  {
    name: "admits a provider's machine never seen",
    request: NEW_KEY,
    facts: { ...PLAIN, tokenVerdict: { kind: "provider", providerId: "p", requestId: "r" } },
    want: { admit: "new" },
  },
  {
    name: "admits a machine never seen under strict rules",
    request: NEW_KEY,
    facts: PLAIN,
    rules: STRICT,
    want: { admit: "new" },
  },
  {
    name: "refuses a machine whose link is being removed",
    request: OLD_KEY,
    facts: { ...KNOWN, link: { ...LINK, tearingDown: true } },
    want: { refuse: "tearingDown" },
  },
  {
    name: "admits the key of the present boot again",
    request: OLD_KEY,
    facts: KNOWN,
    want: { admit: "sameKey" },
  },
  {
    name: "admits the key of the present boot before its token has arrived",
    request: OLD_KEY,
    facts: TOKEN,
    want: { admit: "sameKey" },
  },
  {
    name: "admits the key of the present boot before its token has arrived, strictly",
    request: OLD_KEY,
    facts: TOKEN,
    rules: STRICT,
    want: { admit: "sameKey" },
  },
  {
    name: "admits a new key with the token while the old key is alive",
    request: NEW_KEY_WITH_TOKEN,
    facts: TOKEN,
    want: { admit: "nodeToken", marks: "persistent" },
  },
  {
    name: "admits a new key with the token of a machine that proved it before",
    request: NEW_KEY_WITH_TOKEN,
    facts: PROVEN,
    rules: STRICT,
    want: { admit: "nodeToken", marks: "persistent" },
  },
  {
    name: "refuses a new key without the token while the old key is alive",
    request: NEW_KEY,
    facts: silent(TOKEN, 599_999),
    want: { refuse: "nodeTokenAbsent" },
  },
  {
    name: "refuses a new key with another token while the old key is alive",
    request: NEW_KEY_OTHER_TOKEN,
    facts: silent(TOKEN, 599_999),
    want: { refuse: "nodeTokenOther" },
  },
  {
    name: "lets a new key without the token take over from a silent one",
    request: NEW_KEY,
    facts: silent(TOKEN, 600_000),
    want: { admit: "reclaimed", marks: "reclaimed" },
  },
  {
    name: "lets a new key with another token take over from a silent one",
    request: NEW_KEY_OTHER_TOKEN,
    facts: silent(TOKEN, 600_000),
    want: { admit: "reclaimed", marks: "reclaimed" },
  },
  {
    name: "never lets go of a machine that proved to keep its token",
    request: NEW_KEY,
    facts: silent(PROVEN, 10_000_000),
    want: { refuse: "nodeTokenAbsent" },
  },
  {
    name: "never lets go of a token under strict rules",
    request: NEW_KEY_OTHER_TOKEN,
    facts: silent(TOKEN, 10_000_000),
    rules: STRICT,
    want: { refuse: "nodeTokenOther" },
  },
  {
    name: "refuses a new key of a machine without a token while the old key is alive",
    request: NEW_KEY,
    facts: silent(KNOWN, 599_999),
    want: { refuse: "keyAlive" },
  },
  {
    name: "refuses a presented token that was never assigned while the old key is alive",
    request: NEW_KEY_WITH_TOKEN,
    facts: silent(KNOWN, 0),
    want: { refuse: "keyAlive" },
  },
  {
    name: "lets a new key of a machine without a token take over from a silent one",
    request: NEW_KEY,
    facts: silent(KNOWN, 600_000),
    want: { admit: "reclaimed", marks: "reclaimed" },
  },
  {
    name: "lets a machine without a token take over even under strict rules",
    request: NEW_KEY,
    facts: silent(KNOWN, 600_000),
    rules: STRICT,
    want: { admit: "reclaimed", marks: "reclaimed" },
  },
  {
    name: "counts a key as alive when no device can tell",
    request: NEW_KEY,
    facts: silent(KNOWN, undefined),
    want: { refuse: "keyAlive" },
  },
];

for (const { name, request, facts, rules = RULES, want } of CASES) {
  Deno.test(`decideAdmission() ${name}`, () => {
    const got = decideAdmission(request, facts, rules);
    const outcome = got.kind === "refuse" ? { refuse: got.reason } : {
      admit: got.verdict,
      ...(got.markPersistent ? { marks: "persistent" } : {}),
      ...(got.reclaimed ? { marks: "reclaimed" } : {}),
    };
    deepStrictEqual(outcome, want);
  });
}
