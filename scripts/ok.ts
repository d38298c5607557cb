// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the whole gate: format, lint, types, imports, catalogue, generated files, tidiness, tests.
 *
 * Usage: `ok.ts [--no-test] [--verbose]`. Steps run side by side up to the number of cores, the
 * tests after the others, because they fill the cores themselves. The output of a step is shown
 * only when it fails. The last line is `N passed, N failed`, counted in steps.
 *
 * @module
 */

import { ROOT } from "./tree.ts";

/** One part of the gate: a command of the running Deno. */
export interface Step {
  readonly name: string;
  readonly args: readonly string[];
  /** What to do when it fails, where that is not plain from its output. */
  readonly hint?: string;
}

/** How a step ended. */
export interface StepResult {
  readonly step: Step;
  readonly code: number;
  readonly output: string;
  readonly seconds: number;
}

const CHECKS: readonly Step[] = [
  { name: "check", args: ["check", "--quiet", "."] },
  { name: "generate", args: script("generate.ts", "--check") },
  { name: "lint", args: ["lint", "--quiet"] },
  { name: "fmt", args: ["fmt", "--check", "--quiet"], hint: "deno task fmt" },
  { name: "imports", args: script("check_imports.ts") },
  { name: "catalogue", args: script("check_catalogue.ts") },
  { name: "graph", args: script("graph.ts", "--check"), hint: "deno task graph" },
  {
    name: "config",
    args: script("config_docs.ts", "--check"),
    hint: "deno task generate:config-docs",
  },
  { name: "tidy", args: script("tidy.ts") },
];

const TEST: Step = { name: "test", args: script("run_tests.ts") };

function script(name: string, ...args: readonly string[]): string[] {
  return ["run", "--allow-all", "--no-prompt", `scripts/${name}`, ...args];
}

/** Runs one step to its end, with both of its output streams in one text. */
export async function runStep(step: Step, cwd: string = ROOT): Promise<StepResult> {
  const start = performance.now();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...step.args],
    cwd,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", RUST_BACKTRACE: "0" },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  return {
    step,
    code,
    output: [stderr, stdout].map((part) => decoder.decode(part).trim()).filter(Boolean).join("\n"),
    seconds: (performance.now() - start) / 1000,
  };
}

/**
 * Runs steps side by side and reports each as it ends.
 *
 * @param width How many run at once.
 */
export async function runSteps(
  steps: readonly Step[],
  width: number,
  report: (result: StepResult) => void,
  cwd?: string,
): Promise<StepResult[]> {
  const waiting = [...steps];
  const results: StepResult[] = [];
  const work = async (): Promise<void> => {
    for (let step = waiting.shift(); step !== undefined; step = waiting.shift()) {
      const result = await runStep(step, cwd);
      report(result);
      results.push(result);
    }
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}

/** Renders the end of one step: a line when it passed, all it printed when it did not. */
export function renderResult(
  { step, code, output, seconds }: StepResult,
  verbose: boolean,
): string {
  const time = `${seconds.toFixed(1)} s`.padStart(7);
  if (code === 0) return `ok   ${step.name.padEnd(10)}${time}${verbose ? `\n${output}` : ""}`;
  const command = `deno ${step.args.join(" ")}`;
  // Among hundreds of passed tests nobody would see the failed one.
  const shown = output.replace(/^.* \.\.\. ok \(\S+\)\n/gm, "");
  return [
    `FAIL ${step.name.padEnd(10)}${time}  (exit code ${code}: ${command})`,
    shown.replace(/^/gm, "     "),
    ...(step.hint === undefined ? [] : [`     To mend it: ${step.hint}`]),
  ].join("\n");
}

if (import.meta.main) {
  const verbose = Deno.args.includes("--verbose");
  const report = (result: StepResult): void => console.log(renderResult(result, verbose));
  const start = performance.now();
  const results = await runSteps(CHECKS, navigator.hardwareConcurrency, report);
  if (!Deno.args.includes("--no-test")) results.push(...await runSteps([TEST], 1, report));
  const failed = results.filter(({ code }) => code !== 0);
  console.log(`${((performance.now() - start) / 1000).toFixed(1)} s in all`);
  if (failed.length > 0) console.log(`failed: ${failed.map(({ step }) => step.name).join(", ")}`);
  console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
  Deno.exit(failed.length > 0 ? 1 : 0);
}
