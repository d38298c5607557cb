// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { type Finding, validateConfig, type ValidateOptions } from "./validate.ts";

const WORKER = `version: v1alpha1
machine:
    type: worker
    ca:
        crt: LS0tCg==
        key: ""
    install:
        disk: /dev/sda
cluster:
    controlPlane:
        endpoint: https://cp.example.org:6443
`;

function find(text: string, options: Partial<ValidateOptions> = {}): Finding[] {
  return validateConfig(text, { mode: "metal", ...options });
}

function document(kind: string, body: string): string {
  return `${WORKER}---\napiVersion: v1alpha1\nkind: ${kind}\n${body}`;
}

Deno.test("validateConfig() finds nothing wrong with a worker", () => {
  assert.deepEqual(find(WORKER), []);
});

Deno.test("validateConfig() names document, path and place of every finding at once", () => {
  const text = WORKER.replace("/dev/sda", "[a]").replace("worker", "wrker") +
    "---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostnme: a\n";
  const findings = find(text).map(({ document, path, line, column }) => ({
    document,
    path,
    line,
    column,
  }));
  assert.deepEqual(findings.slice(0, 2), [
    { document: "v1alpha1", path: "machine.install.disk", line: 8, column: 15 },
    { document: "HostnameConfig", path: "hostnme", line: 15, column: 1 },
  ]);
  assert.ok(findings.some(({ path, line }) => path === "machine.type" && line === 3));
});

interface FindingCase {
  readonly name: string;
  readonly text: string;
  readonly options?: Partial<ValidateOptions>;
  readonly message: RegExp;
}

const CASES: readonly FindingCase[] = [
  {
    name: "a document that the target version does not know",
    text: document("HostnameConfig", "hostname: a\n"),
    options: { talosVersion: "v1.11.3" },
    message: /^document is known from Talos 1\.12 on$/,
  },
  {
    name: "a field that the target version does not know",
    text: WORKER.replace("    install:", "    nodeTaints: {a: 'b:NoSchedule'}\n    install:"),
    options: { talosVersion: "1.5" },
    message: /^field is known from Talos 1\.6 on$/,
  },
  {
    name: "a missing installation up to 1.13",
    text: WORKER.replace("    install:\n        disk: /dev/sda\n", ""),
    options: { talosVersion: "1.13" },
    message: /^install instructions are required$/,
  },
  {
    name: "a worker with the key of the authority",
    text: WORKER.replace('key: ""', "key: LS0tCg=="),
    message: /^issuing Talos API CA key is not allowed on non-controlplane nodes/,
  },
  {
    name: "a setting that a document has too",
    text: document("HostnameConfig", "auto: stable\n").replace(
      "    install:",
      "    network: {hostname: a}\n    install:",
    ),
    message: /^static hostname is already set in v1alpha1 config$/,
  },
  {
    name: "a document for control planes on a worker",
    text: document("KubeSchedulerConfig", "image: a:v1\nconfig: {}\n"),
    message: /only allowed on control plane machines: \[KubeSchedulerConfig\]$/,
  },
  {
    name: "one document twice",
    text: document("HostnameConfig", "auto: stable\n") +
      "---\napiVersion: v1alpha1\nkind: HostnameConfig\nauto: off\n",
    message: /^duplicate document: HostnameConfig\/$/,
  },
  { name: "no YAML", text: "a: [", message: /^decode error: .*L1\.C\d/ },
  { name: "nothing", text: "# nothing\n", message: /^config not found$/ },
  { name: "a list", text: "- a\n", message: /^expected a YAML document at line 1$/ },
  {
    name: "an unknown kind",
    text: document("NoSuchConfig", ""),
    message: /^"NoSuchConfig" "v1alpha1": not registered$/,
  },
  {
    name: "arguments that the image should hold",
    text: WORKER.replace(
      "disk: /dev/sda",
      "{disk: /dev/sda, extraKernelArgs: [a], grubUseUKICmdline: true}",
    )
      .replace("install:\n        {", "install: {"),
    message: /can't be used together$/,
  },
];

for (const { name, text, options, message } of CASES) {
  Deno.test(`validateConfig() finds ${name}`, () => {
    const messages = find(text, options).map((finding) => finding.message);
    assert.ok(messages.some((each) => message.test(each)), messages.join("\n"));
  });
}

Deno.test("validateConfig() needs no installation in the cloud", () => {
  const text = WORKER.replace("    install:\n        disk: /dev/sda\n", "");
  assert.deepEqual(find(text, { mode: "cloud", talosVersion: "1.12" }), []);
});

Deno.test("validateConfig() makes errors of warnings when strict", () => {
  const text = WORKER.replace(
    "        disk: /dev/sda",
    "        disk: /dev/sda\n        extensions: [{image: a}]",
  );
  assert.deepEqual(find(text).map(({ severity }) => severity), ["warning"]);
  assert.deepEqual(find(text, { strict: true }).map(({ severity }) => severity), ["error"]);
});

Deno.test("validateConfig() never shows a secret", () => {
  const text = WORKER.replace("    install:", "    token: [hush]\n    install:")
    .replace('key: ""', "key: hush%");
  for (const { message } of find(text)) assert.doesNotMatch(message, /hush/);
});

Deno.test("validateConfig() refuses a version that it cannot read", () => {
  assert.throws(() => find(WORKER, { talosVersion: "latest" }), { code: "invalidArgument" });
});
