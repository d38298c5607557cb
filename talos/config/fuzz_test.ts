// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Feeds damaged and hostile texts to everything that reads a stranger's YAML: each gives a result or
 * a coded error, soon.
 *
 * `CONFIG_SEED` repeats the run whose seed a failure names; `CONFIG_FUZZ` sets the number of texts.
 */

import assert from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import { generateBundle } from "./bundle.ts";
import { contractOf } from "./contract.ts";
import { configFacts, parseDocuments } from "./documents.ts";
import { sanitizeUserPatch } from "./forbidden.ts";
import { generateConfig } from "./generate.ts";
import { applyPatches } from "./patch.ts";
import { redactConfig } from "./redact.ts";
import { validateConfig } from "./validate.ts";

const SEED = Number(Deno.env.get("CONFIG_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const TEXTS = Number(Deno.env.get("CONFIG_FUZZ") ?? 400);

/** Far above what any text takes, so that a busy machine does not fail the test. */
const DEADLINE_MS = 5_000;

const BASE = "machine: {type: worker}\n";

/** Runs every reader on a text and returns the milliseconds of the slowest. */
function readEverywhere(text: string): number {
  const readers: readonly (() => unknown)[] = [
    () => applyPatches(BASE, [text]),
    () => validateConfig(text, { mode: "metal", talosVersion: "v1.12" }),
    () => redactConfig(text),
    () => sanitizeUserPatch(text),
    () => configFacts(parseDocuments(text)),
  ];
  let slowest = 0;
  for (const reader of readers) {
    const start = performance.now();
    try {
      reader();
    } catch (error) {
      if (!(error instanceof CodedError)) {
        throw new Error(`CONFIG_SEED=${SEED}: ${JSON.stringify(text.slice(0, 400))}`, {
          cause: error,
        });
      }
    }
    slowest = Math.max(slowest, performance.now() - start);
  }
  assert.ok(slowest < DEADLINE_MS, `CONFIG_SEED=${SEED}: ${slowest} ms`);
  return slowest;
}

const PIECES = [
  " ",
  "\n",
  "\t",
  "\0",
  "- ",
  ": ",
  "#",
  "'",
  '"',
  "|",
  "[",
  "]",
  "{",
  "}",
  "&a ",
  "*a",
  "<<: ",
  "---\n",
  "!!int ",
  "!!binary ",
  "9".repeat(400),
  "1e999",
  "0x",
  "$patch: delete",
  "~",
  "\u2028",
  "\ufeff",
  "%YAML 1.1\n",
  "? ",
  "\\",
  "__proto__: 1\n",
  "constructor: {}\n",
  "machine:\n",
];

function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

Deno.test("readers survive damaged configurations", async () => {
  const random = randomNumbers(SEED);
  const bundle = await generateBundle({ contract: contractOf(1, 6), nowMs: Date.now() });
  const configs = [2, 9, 12, 14].map((minor) =>
    generateConfig({
      bundle,
      clusterName: "alpha",
      endpoint: "https://cp.example.org:6443",
      kubernetesVersion: "1.33.1",
      contract: contractOf(1, minor),
      machineType: "controlplane",
      options: { installDisk: "/dev/sda", sysctls: { a: "b" } },
    })
  );
  for (let i = 0; i < TEXTS; i++) {
    let text = configs[Math.floor(random() * configs.length)] ?? "";
    for (let damage = 0; damage <= random() * 4; damage++) {
      const at = Math.floor(random() * text.length);
      const piece = PIECES[Math.floor(random() * PIECES.length)] ?? "";
      text = text.slice(0, at) + piece + text.slice(at + Math.floor(random() * 8));
    }
    readEverywhere(text);
  }
});

const LAUGHS = ["a: &a [x, x, x, x, x, x, x, x, x]\n"];
for (let i = 1; i < 10; i++) {
  const [name, before] = [String.fromCharCode(97 + i), String.fromCharCode(96 + i)];
  LAUGHS.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(", ")}]\n`);
}

/** Texts that are made to hurt. */
const HOSTILE: Readonly<Record<string, string>> = {
  "aliases of aliases": LAUGHS.join(""),
  "aliases of aliases in a free-form value": `machine:\n  pods:\n    - ${
    LAUGHS.join("").replaceAll("\n", "\n      ")
  }`,
  "merge keys of merge keys": Array.from(
    { length: 200 },
    (_, i) =>
      `k${i}: &m${i}\n${
        i === 0 ? "  a: b\n" : `  <<: [${Array(20).fill(`*m${i - 1}`).join(", ")}]\n`
      }`,
  ).join(""),
  "brackets": "[".repeat(100_000),
  "braces": "{a: ".repeat(50_000),
  "dashes": "- ".repeat(100_000),
  "indentation": Array.from({ length: 1000 }, (_, i) => `${" ".repeat(i)}a:\n`).join(""),
  "many keys": `machine:\n  sysctls:\n${
    Array.from({ length: 50_000 }, (_, i) => `    k${i}: v\n`).join("")
  }`,
  "many unknown keys": Array.from({ length: 25_000 }, (_, i) => `k${i}: v\n`).join(""),
  "many documents": "a: 1\n---\n".repeat(20_000),
  "many equal documents": "apiVersion: v1alpha1\nkind: HostnameConfig\n---\n".repeat(9_000),
  "a long line": `machine: {type: "${"x".repeat(900_000)}"}\n`,
  "a long plain scalar": `machine:\n  type: ${"x ".repeat(400_000)}\n`,
  "a long number": `machine:\n  type: ${"9".repeat(500_000)}\n`,
  "a long CEL expression":
    `apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: a\nprovisioning:\n` +
    `  diskSelector:\n    match: ${"(".repeat(100_000)}\n`,
  "a deep CEL expression":
    `apiVersion: v1alpha1\nkind: UserVolumeConfig\nname: a\nprovisioning:\n` +
    `  diskSelector:\n    match: ${"(".repeat(2000)}1${")".repeat(2000)}\n`,
  "spaces": " ".repeat(1_000_000),
  "line breaks": "\n".repeat(1_000_000),
  "colons": ":".repeat(300_000),
  "doubled quotes in a scalar": `a: ['${"''".repeat(30_000)}']\n`,
  "quotes": "'".repeat(500_000),
  "NUL": "\0".repeat(1000),
  "20 MB": "a: b\n".repeat(4_000_000),
  "JSON operations": `[${Array(20_000).fill('{"op":"add","path":"/a","value":1}').join(",")}]`,
  "a JSON operation far away": '[{"op":"add","path":"/machine/certSANs/4000000000","value":1}]',
  "a JSON operation on a prototype": '[{"op":"add","path":"/__proto__/x","value":1}]',
};

for (const [name, text] of Object.entries(HOSTILE)) {
  Deno.test(`readers survive ${name}`, () => {
    readEverywhere(text);
  });
}

Deno.test("a JSON operation cannot reach the prototype of objects", () => {
  try {
    applyPatches(BASE, ['[{"op":"add","path":"/__proto__/polluted","value":1}]']);
  } catch (error) {
    assert.ok(error instanceof CodedError);
  }
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});
