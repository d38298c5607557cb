// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { rebootingChanges, sameConfig } from "./config_change.ts";
import { readMachineConfig } from "./machine_config.ts";

const BASE = `version: v1alpha1
debug: false
machine:
    type: controlplane
    kubelet:
        image: a
    features:
        kubePrism:
            enabled: true
cluster:
    id: x
`;

const changed = (from: string, to: string): string[] =>
  rebootingChanges(readMachineConfig(BASE), readMachineConfig(BASE.replace(from, to)));

Deno.test("rebootingChanges() names what does not take effect at once", () => {
  assert.deepEqual(changed("image: a", "image: b"), []);
  assert.deepEqual(changed("debug: false", "debug: true"), []);
  assert.deepEqual(changed("id: x", "id: y"), []);
  assert.deepEqual(changed("enabled: true", "enabled: false"), []);
  assert.deepEqual(changed("    type: controlplane", "    type: worker"), ["machine.type"]);
  assert.deepEqual(changed("    features:", "    files: []\n    features:"), ["machine.files"]);
});

Deno.test("rebootingChanges() takes other documents as immediate", () => {
  const more = `${BASE}---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: stable\n`;
  assert.deepEqual(rebootingChanges(readMachineConfig(BASE), readMachineConfig(more)), []);
  assert.equal(sameConfig(readMachineConfig(BASE), readMachineConfig(more)), false);
});

Deno.test("sameConfig() does not see the order of keys", () => {
  const reordered = BASE.replace(
    "version: v1alpha1\ndebug: false\n",
    "debug: false\nversion: v1alpha1\n",
  );
  assert.equal(sameConfig(readMachineConfig(BASE), readMachineConfig(reordered)), true);
});
