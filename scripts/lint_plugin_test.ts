// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import plugin from "./lint_plugin.ts";
import { ROOT } from "./tree.ts";

const HEAD = "// SPDX-License-Identifier: AGPL-3.0-or-later\n/** What it is for. @module */\n";

/** Names of the rules that a source breaks, without the plugin's prefix. */
function broken(file: string, source: string): string[] {
  return Deno.lint.runPlugin(plugin, `${ROOT}/${file}`, source)
    .map(({ id }) => id.replace("batuta/", ""));
}

/** Rule, file and body of a source that breaks only that rule; the head is put before the body. */
const VIOLATIONS: readonly (readonly [rule: string, file: string, body: string])[] = [
  ["comment-form", "link/a.ts", "// TODO: later\n"],
  ["comment-form", "link/a.ts", "// deno-lint-ignore no-explicit-any\nexport const a = 1;"],
  ["file-name", "link/camelCase.ts", ""],
  ["file-name", "link/utils.ts", ""],
  ["file-name", "link/types.ts", ""],
  ["file-name", "link/index.ts", ""],
  ["file-name", "link/peer_manager.ts", ""],
  ["file-name", "link/common_test.ts", ""],
  ["function-declaration", "link/a.ts", "export const a = () => {};"],
  ["function-declaration", "link/a.ts", "const a = function () {}; export { a };"],
  ["function-length", "link/a.ts", `export function a() {${"\n  b();".repeat(70)}\n}`],
  ["no-console", "link/a.ts", 'export function a() { console.log("x"); }'],
  ["no-hierarchy", "link/a.ts", "class A {}\nexport class B extends A {}"],
  ["no-hierarchy", "link/a.ts", "export class B extends A {}\nclass A {}"],
  ["no-hierarchy", "link/a.ts", 'import { A } from "./b.ts";\nexport class B extends A {}'],
  ["no-hierarchy", "link/a.ts", "export abstract class A {}"],
  ["no-side-effect-import", "link/a.ts", 'import "./b.ts";'],
  ["no-sleep", "link/a_test.ts", "setTimeout(() => {}, 10);"],
  ["no-sleep", "tests/integration/a_test.ts", "await delay(10);"],
  [
    "no-sleep",
    "link/a_test.ts",
    'import { setTimeout as wait } from "node:timers/promises"; wait();',
  ],
  ["no-star-export", "link/a.ts", 'export * from "./b.ts";'],
  ["type-name", "link/a.ts", "export class PeerManager {}"],
  ["type-name", "link/a.ts", "export interface PeerInfo {}"],
  ["type-name", "link/a.ts", "export type PeerData = string;"],
  ["type-name", "controllers/link/a.ts", "export interface PeerService {}"],
];

for (const [rule, file, body] of VIOLATIONS) {
  const line = body.split("\n").at(-1) || "an empty module";
  Deno.test(`${rule} refuses ${line.slice(0, 60)} in ${file}`, () => {
    deepStrictEqual(broken(file, HEAD + body), [rule]);
  });
}

Deno.test("license-line refuses another first line", () => {
  deepStrictEqual(broken("link/a.ts", `\n${HEAD}`), ["license-line"]);
});

Deno.test("module-docstring refuses a module that does not say what it is for", () => {
  deepStrictEqual(broken("link/a.ts", HEAD.split("\n")[0] + "\nexport const A = 1;"), [
    "module-docstring",
  ]);
});

/** Sources that come close to a violation. */
const ACCEPTED: readonly (readonly [file: string, body: string])[] = [
  ["link/a.ts", "// TODO(#12): carry the second address\n"],
  ["link/a.ts", "// deno-lint-ignore no-explicit-any -- erased\nexport const a = 1;"],
  ["cli/a.ts", 'console.log("x");'],
  ["link/a_test.ts", 'console.log("x");'],
  ["link/a.ts", "export class LinkError extends Error {}"],
  ["link/a.ts", 'import { Duplex } from "node:stream";\nexport class A extends Duplex {}'],
  ["link/a.ts", 'import "reflect-metadata";'],
  ["link/a_test.ts", "AbortSignal.timeout(10);"],
  ["link/a_test.ts", "const double = (a: number) => 2 * a; double(1);"],
  ["link/a.ts", "export function a() { setTimeout(() => {}, 10); }"],
  ["rpc/a.ts", "export interface StateService {}"],
  ["resources/backup/backup_data.ts", ""],
  ["link/a.ts", "type F = () => void;\nexport const a: F = () => {};"],
  [
    "link/a.ts",
    `export function a() {\n  const b = () => {${"\n    c();".repeat(50)}\n  };${
      "\n  b();".repeat(50)
    }\n}`,
  ],
];

for (const [file, body] of ACCEPTED) {
  Deno.test(`the plugin accepts ${body.split("\n")[0]?.slice(0, 60)} in ${file}`, () => {
    deepStrictEqual(broken(file, HEAD + body), []);
  });
}
