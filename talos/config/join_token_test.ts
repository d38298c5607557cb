// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import {
  encodeJoinToken,
  isJoinTokenValid,
  type JoinTokenVersion,
  parseJoinToken,
} from "./join_token.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

Deno.test("encodeJoinToken() signs the vector", () => {
  const extraData = {
    "omni.sidero.dev/machine-request": "req-1",
    "omni.sidero.dev/infra-provider-id": "proxmox",
  };
  const token = parseJoinToken(
    encodeJoinToken({ secret: "secret-token", version: "2", extraData }),
  );
  assert.equal(token.signature.toBase64(), "qJl+pnyP58KvIgFQmduuFX34hMh3fZatzaSyyAO4h2g=");
  assert.deepEqual(token.extraData, extraData);
  assert.equal(isJoinTokenValid(token, "secret-token"), true);
  assert.equal(isJoinTokenValid(token, "secret-toke"), false);
});

Deno.test("isJoinTokenValid() refuses a signed token without a signature", () => {
  const token = parseJoinToken(`v1:${btoa(`{"extra_data":{}}`)}`);
  assert.equal(isJoinTokenValid(token, ""), false);
});

interface TokenCase {
  readonly name: string;
  readonly secret: string;
  readonly version?: JoinTokenVersion;
  readonly extraData?: Record<string, string>;
  readonly encoded?: string;
  readonly token?: string;
  readonly parsedVersion?: string;
  readonly parsedExtraData?: Record<string, string>;
  readonly parseError?: string;
  readonly validFor: Record<string, boolean>;
}

Deno.test({
  name: `parseJoinToken() and encodeJoinToken() follow the golden cases${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    const cases: TokenCase[] = JSON.parse(readGolden("talos-cases/cases_jointoken.json"));
    for (const { name, secret, version, extraData, ...expected } of cases) {
      const text = expected.token ??
        encodeJoinToken({ secret, ...(version && { version }), ...(extraData && { extraData }) });
      if (expected.encoded !== undefined) assert.equal(text, expected.encoded, name);
      if (expected.parseError !== undefined) {
        assert.throws(() => parseJoinToken(text), { code: "invalidArgument" }, name);
        continue;
      }
      const token = parseJoinToken(text);
      assert.equal(token.version, expected.parsedVersion, name);
      assert.deepEqual(token.extraData, expected.parsedExtraData ?? {}, name);
      for (const [candidate, isValid] of Object.entries(expected.validFor)) {
        assert.equal(isJoinTokenValid(token, candidate), isValid, `${name}: ${candidate}`);
      }
    }
  },
});
