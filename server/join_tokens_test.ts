// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { Secret } from "../base/redact.ts";
import { openState, type StateCore } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { DefaultJoinToken } from "../resources/link/default_join_token.ts";
import { JoinToken } from "../resources/link/join_token.ts";
import { ProviderJoinConfig } from "../resources/link/provider_join_config.ts";
import {
  encodeJoinToken,
  INFRA_PROVIDER_KEY,
  MACHINE_REQUEST_KEY,
} from "../talos/config/join_token.ts";
import { judgeToken } from "./join_tokens.ts";
import { putResource } from "./put_resource.ts";

const NOW_MS = 1_800_000_000_000;
const SIGNED = { [INFRA_PROVIDER_KEY]: "proxmox", [MACHINE_REQUEST_KEY]: "req-1" };

async function withTokens(work: (judge: (token: string) => string) => void): Promise<void> {
  const state = await openState({ store: openMemoryStore() });
  try {
    await seed(state);
    work((token) => {
      const verdict = judgeToken(state, new Secret(token), NOW_MS);
      if (verdict.kind === "invalid") return verdict.reason;
      return verdict.kind === "plain" ? "plain" : `${verdict.providerId}/${verdict.requestId}`;
    });
  } finally {
    await state.close();
  }
}

async function seed(state: StateCore): Promise<void> {
  const at = (ms: number) => ({ seconds: BigInt(ms) / 1000n, nanos: 0 });
  await putResource(state, JoinToken, { id: "first", spec: {} });
  await putResource(state, JoinToken, { id: "second", spec: {} });
  await putResource(state, JoinToken, { id: "revoked", spec: { revoked: true } });
  await putResource(state, JoinToken, {
    id: "expired",
    spec: { expirationTime: at(NOW_MS - 1000) },
  });
  await putResource(state, JoinToken, {
    id: "expiring",
    spec: { expirationTime: at(NOW_MS + 1000) },
  });
  await putResource(state, DefaultJoinToken, { id: "default", spec: { tokenId: "first" } });
  await putResource(state, ProviderJoinConfig, {
    id: "proxmox",
    spec: { joinToken: "provider-secret" },
  });
}

Deno.test("judgeToken() takes every plain token that is neither revoked nor expired", async () => {
  await withTokens((judge) => {
    strictEqual(judge("first"), "plain");
    strictEqual(judge("second"), "plain");
    strictEqual(judge("expiring"), "plain");
    strictEqual(judge("revoked"), "the join token is revoked");
    strictEqual(judge("expired"), "the join token has expired");
    strictEqual(judge("third"), "the join token is not known");
    strictEqual(judge(""), "the join token is missing");
    strictEqual(judge("v2:%%%"), "the join token is malformed");
  });
});

Deno.test("judgeToken() takes a token that a declared provider signed", async () => {
  await withTokens((judge) => {
    const sign = (version: "1" | "2", secret: string, extraData = SIGNED) =>
      judge(encodeJoinToken({ secret, version, extraData }));
    strictEqual(sign("2", "provider-secret"), "proxmox/req-1");
    strictEqual(sign("1", "first"), "proxmox/req-1");
    const wrong = "the signature of the join token is wrong";
    strictEqual(sign("2", "first"), wrong);
    strictEqual(sign("1", "provider-secret"), wrong);
    strictEqual(sign("1", "second"), wrong);
    strictEqual(
      sign("2", "provider-secret", { ...SIGNED, [INFRA_PROVIDER_KEY]: "stranger" }),
      "the join token names an infrastructure provider that is not declared",
    );
  });
});
