// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { checkUserPatch, sanitizeUserPatch } from "./forbidden.ts";
import { GOLDEN_NOTE, hasGoldenData, readGolden } from "./testing.ts";

Deno.test("checkUserPatch() names everything that is not allowed", () => {
  const patch =
    "machine: {token: a, type: null}\n---\napiVersion: v1alpha1\nkind: KubeClusterConfig\n";
  assert.throws(() => checkUserPatch(patch), {
    code: "permissionDenied",
    message: "3 errors occurred:\n" +
      '\t* overriding "machine.token" is not allowed in the config patch\n' +
      '\t* overriding "machine.type" is not allowed in the config patch\n' +
      '\t* the "KubeClusterConfig" document is not allowed in the config patch\n\n',
  });
});

Deno.test("checkUserPatch() accepts what a user may set", () => {
  checkUserPatch("machine: {nodeLabels: {a: b}, install: {image: x}}\n");
});

Deno.test("sanitizeUserPatch() keeps what a user may set", () => {
  const patch = "machine: {token: a, nodeLabels: {b: c}}\ncluster: {ca: {}}\n";
  assert.equal(sanitizeUserPatch(patch), "machine:\n  nodeLabels:\n    b: c\n");
});

interface ForbiddenCase {
  readonly name: string;
  readonly patch: string;
  readonly ok: boolean;
  readonly error?: string;
  readonly sanitized?: string | null;
  readonly sanitizeError?: string;
}

Deno.test({
  name: `checkUserPatch() and sanitizeUserPatch() follow the golden cases${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    const cases: ForbiddenCase[] = JSON.parse(readGolden("talos-cases/cases_forbidden.json"));
    for (const { name, patch, ok, error, sanitized, sanitizeError } of cases) {
      if (ok) assert.doesNotThrow(() => checkUserPatch(patch), name);
      else assert.throws(() => checkUserPatch(patch), { message: error }, name);
      if (sanitizeError === undefined) {
        assert.equal(sanitizeUserPatch(patch), sanitized ?? "", name);
      } else assert.throws(() => sanitizeUserPatch(patch), { message: sanitizeError }, name);
    }
  },
});
