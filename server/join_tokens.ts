// SPDX-License-Identifier: AGPL-3.0-or-later

/** Judges join tokens by what the state holds. @module */

import { codeOf } from "../base/errors.ts";
import type { Secret } from "../base/redact.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { DefaultJoinToken } from "../resources/link/default_join_token.ts";
import { JoinToken } from "../resources/link/join_token.ts";
import { ProviderJoinConfig } from "../resources/link/provider_join_config.ts";
import {
  INFRA_PROVIDER_KEY,
  isJoinTokenValid,
  type JoinToken as ParsedToken,
  MACHINE_REQUEST_KEY,
  parseJoinToken,
} from "../talos/config/join_token.ts";
import type { TokenVerdict } from "./admission.ts";
import { listResources, peekResource } from "./typed_state.ts";

/** Says what a presented token is worth; the answer never repeats it. */
export function judgeToken(state: StateCore, presented: Secret, nowMs: number): TokenVerdict {
  const text = presented.reveal();
  if (text === "") return invalid("the join token is missing");
  let token: ParsedToken;
  try {
    token = parseJoinToken(text);
  } catch (error) {
    if (codeOf(error) !== "invalidArgument") throw error;
    return invalid("the join token is malformed");
  }
  return token.version === "plain" ? judgePlain(state, token, nowMs) : judgeSigned(state, token);
}

function judgePlain(state: StateCore, token: ParsedToken, nowMs: number): TokenVerdict {
  // Every token is compared, so that the time taken does not tell which one came close.
  const matching = listResources(state, JoinToken)
    .filter(({ metadata }) => isJoinTokenValid(token, metadata.id));
  const found = matching[0];
  if (found === undefined) return invalid("the join token is not known");
  if (found.spec.revoked) return invalid("the join token is revoked");
  const { expirationTime } = found.spec;
  const isExpired = expirationTime !== undefined && Number(expirationTime.seconds) * 1000 <= nowMs;
  return isExpired ? invalid("the join token has expired") : { kind: "plain" };
}

function judgeSigned(state: StateCore, token: ParsedToken): TokenVerdict {
  const providerId = token.extraData[INFRA_PROVIDER_KEY] ?? "";
  const provider = peekResource(state, ProviderJoinConfig, providerId);
  if (provider === undefined) {
    return invalid("the join token names an infrastructure provider that is not declared");
  }
  const secret = token.version === "1"
    ? peekResource(state, DefaultJoinToken, "default")?.spec.tokenId ?? ""
    : provider.spec.joinToken;
  if (secret === "" || !isJoinTokenValid(token, secret)) {
    return invalid("the signature of the join token is wrong");
  }
  return { kind: "provider", providerId, requestId: token.extraData[MACHINE_REQUEST_KEY] ?? "" };
}

function invalid(reason: string): TokenVerdict {
  return { kind: "invalid", reason };
}
