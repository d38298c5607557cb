// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, notStrictEqual, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { countTotals, expandTarget, parseReport, selectTests, splitRuns } from "./run_tests.ts";

const REPORT = `<testsuites><testsuite name="a_test.ts">
<testcase name="a() does &lt;b&gt;" classname="./a_test.ts" time="0.250" line="1" col="6"></testcase>
<testcase name="c" time="0.001" />
<testcase name="d" time="0"><failure message="x">text</failure></testcase>
<testcase name="e" time="0"><skipped/></testcase>
</testsuite></testsuites>`;

Deno.test("parseReport() reads names, times and outcomes", () => {
  deepStrictEqual(parseReport(REPORT), [
    { name: "a() does <b>", seconds: 0.25, outcome: "passed" },
    { name: "c", seconds: 0.001, outcome: "passed" },
    { name: "d", seconds: 0, outcome: "failed" },
    { name: "e", seconds: 0, outcome: "skipped" },
  ]);
});

Deno.test("countTotals() counts each outcome", () => {
  deepStrictEqual(countTotals(parseReport(REPORT), 1), { passed: 2, failed: 1, skipped: 1 });
});

Deno.test("countTotals() counts a run that broke without a failed test as a failure", () => {
  deepStrictEqual(countTotals([], 1), { passed: 0, failed: 1, skipped: 0 });
  deepStrictEqual(countTotals([{ name: "a", seconds: 0, outcome: "passed" }], 1), {
    passed: 1,
    failed: 1,
    skipped: 0,
  });
});

Deno.test("countTotals() counts a run without tests as a failure", () => {
  strictEqual(countTotals([], 0).failed, 1);
});

Deno.test("selectTests() leaves the tests of other toolchains to their own run", () => {
  const files = ["base/a.ts", "base/a_test.ts", "tests/compat/b_test.ts", "tests/spec/c_test.ts"];
  deepStrictEqual(selectTests(files, false), ["base/a_test.ts", "tests/spec/c_test.ts"]);
  deepStrictEqual(selectTests(files, true), ["tests/compat/b_test.ts"]);
});

Deno.test("expandTarget() finds the tests of a folder, and leaves all else as it is", () => {
  const files = ["rpc/a.ts", "rpc/a_test.ts", "rpc/b/c_test.ts", "rpcs/d_test.ts"];
  for (const target of ["rpc", "rpc/", "./rpc"]) {
    deepStrictEqual(expandTarget(target, files), ["rpc/a_test.ts", "rpc/b/c_test.ts"]);
  }
  for (const target of ["rpc/a_test.ts", "./rpc/a_test.ts"]) {
    deepStrictEqual(expandTarget(target, files), ["rpc/a_test.ts"]);
  }
  deepStrictEqual(expandTarget("/elsewhere/e_test.ts", files), ["/elsewhere/e_test.ts"]);
});

Deno.test("splitRuns() keeps tests that measure waiting from all others", () => {
  const attacks = "tests/integration/rpc_attack_test.ts";
  deepStrictEqual(splitRuns(["a_test.ts", attacks, "b_test.ts"]), [
    { targets: ["a_test.ts", "b_test.ts"], parallel: true },
    { targets: [attacks], parallel: false },
  ]);
  deepStrictEqual(splitRuns([attacks]), [{ targets: [attacks], parallel: false }]);
});

/** Runs the script on one test module and returns its exit code and last line. */
async function runOn(module: string): Promise<{ code: number; lastLine: string }> {
  const folder = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(`${folder}/seeded_test.ts`, module);
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        fileURLToPath(new URL("run_tests.ts", import.meta.url)),
        `${folder}/seeded_test.ts`,
      ],
      stderr: "null",
    }).output();
    return { code, lastLine: new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1) ?? "" };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("run_tests.ts ends with the plain line and 0 when all tests pass", async () => {
  const { code, lastLine } = await runOn(
    'Deno.test("a", () => {});Deno.test.ignore("b", () => {});',
  );
  deepStrictEqual({ code, lastLine }, { code: 0, lastLine: "1 passed, 0 failed" });
});

const BROKEN: Readonly<Record<string, string>> = {
  "a failing test": 'Deno.test("a", () => { throw new Error("x"); });',
  "a module that does not load": 'throw new Error("x");',
  "a module without tests": "export {};",
  "a leaked timer": 'Deno.test("a", () => { setTimeout(() => {}, 60_000); });',
};

for (const [what, module] of Object.entries(BROKEN)) {
  Deno.test(`run_tests.ts fails on ${what}`, async () => {
    const { code, lastLine } = await runOn(module);
    notStrictEqual(code, 0);
    match(lastLine, /^0 passed, 1 failed$/);
  });
}
