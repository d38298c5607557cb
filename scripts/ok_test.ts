// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import { renderResult, runSteps, type Step, type StepResult } from "./ok.ts";

function evaluate(name: string, code: string): Step {
  return { name, args: ["eval", code] };
}

Deno.test("runSteps() runs every step and reports each, also after a failure", async () => {
  const reported: string[] = [];
  const results = await runSteps(
    [evaluate("bad", "Deno.exit(3)"), evaluate("good", "console.log('x')"), evaluate("last", "")],
    2,
    ({ step, code }) => void reported.push(`${step.name} ${code}`),
  );
  deepStrictEqual(reported.toSorted(), ["bad 3", "good 0", "last 0"]);
  strictEqual(results.length, 3);
});

function failed(output: string): StepResult {
  return {
    step: { name: "fmt", args: ["fmt"], hint: "deno task fmt" },
    code: 1,
    output,
    seconds: 1,
  };
}

Deno.test("renderResult() shows the command, the output and the remedy of a failed step", () => {
  const text = renderResult(failed("a.ts:1: wrong"), false);
  match(
    text,
    /^FAIL fmt .*exit code 1: deno fmt\)\n {5}a\.ts:1: wrong\n {5}To mend it: deno task fmt$/,
  );
});

Deno.test("renderResult() leaves passed tests out of a failed run", () => {
  const text = renderResult(failed("a does b ... ok (2ms)\nc does d ... FAILED (1ms)"), false);
  match(text, /c does d/);
  strictEqual(text.includes("a does b"), false);
});

Deno.test("renderResult() shows the output of a passed step only when asked", () => {
  const passed = { ...failed("details"), code: 0 };
  strictEqual(renderResult(passed, false).includes("details"), false);
  match(renderResult(passed, true), /details/);
});
