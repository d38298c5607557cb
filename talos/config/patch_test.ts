// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { encodeConfig, loadConfig } from "./config_load.ts";
import { applyPatches } from "./patch.ts";
import { GOLDEN_NOTE, goldenFolders, hasGoldenData, readGolden } from "./testing.ts";

const BASE = `version: v1alpha1
machine:
    type: worker
    token: abc
    certSANs:
        - a
    network:
        interfaces:
            - interface: eth0
              addresses:
                - 10.0.0.2/24
    nodeLabels:
        x: "1"
cluster:
    controlPlane:
        endpoint: https://a.example.org:6443/
    network:
        dnsDomain: cluster.local
        podSubnets:
            - 10.244.0.0/16
        serviceSubnets: []
`;

interface PatchCase {
  readonly name: string;
  readonly patch: string;
  /** Lines that the result has and the base has not, or the other way round. */
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}

const CASES: readonly PatchCase[] = [
  {
    name: "replaces a scalar",
    patch: "machine: {type: controlplane}",
    added: ["    type: controlplane"],
    removed: ["    type: worker"],
  },
  { name: "keeps the left side for null", patch: "machine: {certSANs: null}" },
  { name: "ignores a zero value", patch: 'machine: {token: ""}' },
  { name: "appends to a list", patch: "machine: {certSANs: [b]}", added: ["        - b"] },
  {
    name: "replaces the pod networks",
    patch: "cluster: {network: {podSubnets: [10.1.0.0/16]}}",
    added: ["            - 10.1.0.0/16"],
    removed: ["            - 10.244.0.0/16"],
  },
  {
    name: "merges interfaces by name",
    patch: "machine: {network: {interfaces: [{interface: eth0, mtu: 9000}]}}",
    added: ["              mtu: 9000"],
  },
  {
    name: "merges maps by key",
    patch: 'machine: {nodeLabels: {y: "2"}}',
    added: ['        "y": "2"'],
  },
  {
    name: "keeps the path of a URL",
    patch: "cluster: {controlPlane: {endpoint: https://b.example.org}}",
    added: ["        endpoint: https://b.example.org/"],
    removed: ["        endpoint: https://a.example.org:6443/"],
  },
  {
    name: "deletes a field",
    patch: "machine: {nodeLabels: {$patch: delete}}",
    removed: ["    nodeLabels:", '        x: "1"'],
  },
  {
    name: "deletes an item of a list",
    patch: "machine: {network: {interfaces: [{interface: eth0, $patch: delete}]}}",
    removed: [
      "        interfaces:",
      "            - interface: eth0",
      "              addresses:",
      "                - 10.0.0.2/24",
    ],
    added: ["    network: {}"],
  },
  {
    name: "appends a document",
    patch: "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a",
    added: ["---", "apiVersion: v1alpha1", "kind: HostnameConfig", "hostname: a"],
  },
];

for (const { name, patch, added = [], removed = [] } of CASES) {
  Deno.test(`applyPatches() ${name}`, () => {
    const lines = (text: string) => new Set(text.split("\n"));
    const [before, after] = [lines(BASE), lines(applyPatches(BASE, [patch]))];
    const fresh = [...after].filter((line) => !before.has(line));
    const gone = [...before].filter((line) => !after.has(line));
    assert.deepEqual(fresh.sort(), [...added].map(unquoteY).sort());
    assert.deepEqual(gone.sort(), [...removed].sort());
  });
}

/** `y` is a boolean of YAML 1.1, so the writer quotes it with single quotes. */
function unquoteY(line: string): string {
  return line.replace('"y"', "'y'");
}

const REFUSED: readonly (readonly [name: string, patch: string, message: RegExp])[] = [
  [
    "an unknown key",
    "machine: {hostname: x}",
    /unknown keys found during decoding:\nmachine:\n {4}hostname: x\n/,
  ],
  ["an unknown document", "apiVersion: v1alpha1\nkind: Nope", /"Nope" "v1alpha1": not registered/],
  [
    "a wrong type",
    "cluster: {controlPlane: {localAPIServerPort: high}}",
    /line 1, column 4\d: .*want an integer: current value is "high"/,
  ],
  [
    "a deletion of what is not there",
    "machine: {sysctls: {a: {$patch: delete}}}",
    /path 'machine.sysctls.a': lookup failed/,
  ],
  [
    "a deletion below an item",
    "machine: {network: {interfaces: [{interface: eth0, dhcp: {$patch: delete}}]}}",
    /cannot delete an inner key/,
  ],
  ["a scalar", "hello", /expected a YAML document at line 1/],
  ["bad YAML", "machine: [", /L1.C\d+/],
  [
    "a wrong secret without showing it",
    "machine: {token: {a: hush}}",
    /want a single value: current value is a mapping/,
  ],
];

for (const [name, patch, message] of REFUSED) {
  Deno.test(`applyPatches() refuses ${name}`, () => {
    assert.throws(() => applyPatches(BASE, [patch]), { code: "invalidArgument", message });
  });
}

Deno.test("applyPatches() changes nothing with an empty patch", () => {
  assert.equal(applyPatches(BASE, ["machine: {}\n"]), BASE);
});

const FOLDERS:
  readonly (readonly [folder: string, base: string, patches: string, result: string])[] = [
    ["apply", "config", "strategic1 jsonpatch1 jsonpatch2 strategic2 strategic3", "expected"],
    ["apply", "config", "strategic4", "expected_manifests"],
    ["multidoc", "config", "strategic1 strategic2 strategic3", "expected"],
    ["auditpolicy", "config", "patch1", "expected"],
    ["patchdelete", "config", "strategic1", "expected"],
    [
      "patchdelete",
      "controlplane_orig",
      "strategic2 strategic3 strategic4",
      "controlplane_expected",
    ],
    ["patchlink", "base", "patch", "expected"],
    ["patchmixed", "base", "patch", "expected"],
  ];

for (const [folder, base, patches, result] of FOLDERS) {
  Deno.test({
    name: `applyPatches() gives the golden ${folder}/${result}${GOLDEN_NOTE}`,
    ignore: !hasGoldenData,
    fn() {
      const read = (name: string) => readGolden(`talos/configpatcher/${folder}/${name}.yaml`);
      assert.equal(applyPatches(read(base), patches.split(" ").map(read)), read(result));
    },
  });
}

Deno.test({
  name: `applyPatches() refuses what the golden data says${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    const read = (name: string) => readGolden(`talos/configpatcher/${name}.yaml`);
    assert.throws(
      () =>
        applyPatches(read("multidoc/config"), [
          read("multidoc/jsonpatch"),
          read("multidoc/strategic1"),
        ]),
      { message: "JSON6902 patches are not supported for multi-document machine configuration" },
    );
    assert.throws(
      () =>
        applyPatches(read("patchdeletemissing/config"), [read("patchdeletemissing/strategic1")]),
      {
        message: "patch delete: path 'machine.network.hostname' in document '/v1alpha1': " +
          "failed to delete path 'machine.network.hostname': lookup failed",
      },
    );
  },
});

Deno.test({
  name: `applyPatches() merges the golden strategic cases${GOLDEN_NOTE}`,
  ignore: !hasGoldenData,
  fn() {
    for (const folder of goldenFolders("talos/strategic")) {
      const read = (name: string) => readGolden(`talos/strategic/${folder}/${name}.yaml`);
      const expected = encodeConfig(loadConfig(read("expected")));
      assert.equal(applyPatches(read("left"), [read("right")]), expected, folder);
    }
  },
});
