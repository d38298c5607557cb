// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { redactConfig } from "./redact.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

Deno.test("redactConfig() leaves empty secrets and everything else alone", () => {
  const text = `version: v1alpha1
machine:
    type: worker
    token: abc
    ca:
        crt: YQ==
        key: ""
    certSANs: []
cluster: null
---
apiVersion: v1alpha1
kind: SideroLinkConfig
apiUrl: https://a.example.org?jointoken=b&grpc_tunnel=true
uniqueToken: c
`;
  const expected = text.replace("token: abc", "token: '******'")
    .replace("jointoken=b&grpc_tunnel=true", "grpc_tunnel=true&jointoken=%2A%2A%2A%2A%2A%2A")
    .replace("uniqueToken: c", "uniqueToken: '******'");
  assert.equal(redactConfig(text), expected);
});

Deno.test({
  name: `redactConfig() hides what the golden examples hide${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    for (const path of ["k8s/serviceaccountconfig", "network/wireguardconfig"]) {
      const redacted = redactConfig(readGolden(`talos/types/${path}.yaml`));
      const expected = readGolden(`talos/types/${path}_redacted.yaml`);
      assert.equal(redacted.replaceAll("'******'", "REDACTED"), expected, path);
    }
  },
});
