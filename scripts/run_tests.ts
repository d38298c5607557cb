// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the tests and ends with one plain line: `N passed, N failed`.
 *
 * Usage: `run_tests.ts [OPTIONS] [files, folders and options of deno test]`. Without a file or
 * folder it runs every test that needs no other toolchain. The order is shuffled; the seed is
 * printed, and `--shuffle=SEED` replays it. Options:
 *
 * - `--compat` runs the tests that need other toolchains;
 * - `--count-skipped` adds `, N skipped` to the last line;
 * - `--slow` lists the slowest tests.
 *
 * @module
 */

import { SERVER_ENVIRONMENT } from "../base/environment.ts";
import { listFiles, ROOT } from "./tree.ts";

/** Tests in this folder drive peers built with other toolchains. */
const COMPAT = "tests/compat/";

/** Tests that measure how long something waits: they come last, and nothing runs beside them. */
const ALONE: ReadonlySet<string> = new Set(["tests/integration/rpc_attack_test.ts"]);

/** Ends a run in which a test hangs; far above what all tests take on two busy cores, in ms. */
const DEADLINE_MS = 1_200_000;

/** How many tests `--slow` lists. */
const SLOW_COUNT = 15;

/** One test of a report; steps count as tests. */
export interface TestCase {
  readonly name: string;
  readonly seconds: number;
  readonly outcome: "passed" | "failed" | "skipped";
}

/** Counts of a run. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

/** Reads the JUnit report that `deno test` writes. */
export function parseReport(xml: string): TestCase[] {
  const cases: TestCase[] = [];
  for (
    const [, attributes, body] of xml.matchAll(
      /<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g,
    )
  ) {
    const attribute = (name: string): string =>
      attributes?.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1] ?? "";
    cases.push({
      name: attribute("name").replace(/&\w+;/g, (entity) => ENTITIES[entity] ?? entity),
      seconds: Number(attribute("time")) || 0,
      outcome: /<(?:failure|error)\b/.test(body ?? "")
        ? "failed"
        : /<skipped\b/.test(body ?? "")
        ? "skipped"
        : "passed",
    });
  }
  return cases;
}

/**
 * Counts a run.
 *
 * A run that ends with an error but reports no failed test did not load a module, leaked, or was
 * killed: that counts as one failure. So does a run without any test.
 */
export function countTotals(cases: readonly TestCase[], exitCode: number): Totals {
  const count = (outcome: TestCase["outcome"]): number =>
    cases.filter((test) => test.outcome === outcome).length;
  const failed = count("failed");
  const unreported = failed === 0 && (exitCode !== 0 || cases.length === 0);
  return {
    passed: count("passed"),
    failed: unreported ? 1 : failed,
    skipped: count("skipped"),
  };
}

/** Chooses the test modules of a run. */
export function selectTests(files: readonly string[], compat: boolean): string[] {
  return files.filter((file) => file.endsWith("_test.ts") && file.startsWith(COMPAT) === compat);
}

/** The test modules of a folder; anything else is what it is. */
export function expandTarget(target: string, files: readonly string[]): readonly string[] {
  const path = target.replace(/^\.\//, "").replace(/\/$/, "");
  const inside = files.filter((file) => file.startsWith(`${path}/`) && file.endsWith("_test.ts"));
  return inside.length > 0 ? inside : [path];
}

/** What can run side by side, and what cannot, as runs that follow each other. */
export function splitRuns(
  targets: readonly string[],
): readonly { readonly targets: readonly string[]; readonly parallel: boolean }[] {
  return [
    { targets: targets.filter((target) => !ALONE.has(target)), parallel: true },
    { targets: targets.filter((target) => ALONE.has(target)), parallel: false },
  ].filter((run) => run.targets.length > 0);
}

/** Splits the arguments into our own and those of `deno test`. */
function parseArguments(args: readonly string[]): {
  readonly compat: boolean;
  readonly countSkipped: boolean;
  readonly slow: boolean;
  readonly shuffle: string;
  readonly targets: readonly string[];
  readonly options: readonly string[];
} {
  const own = new Set(["--compat", "--count-skipped", "--slow"]);
  const rest = args.filter((arg) => !own.has(arg) && !arg.startsWith("--shuffle="));
  return {
    compat: args.includes("--compat"),
    countSkipped: args.includes("--count-skipped"),
    slow: args.includes("--slow"),
    shuffle: args.find((arg) => arg.startsWith("--shuffle="))?.slice("--shuffle=".length) ??
      String(Math.trunc(Math.random() * 2 ** 31)),
    targets: rest.filter((arg) => !arg.startsWith("-")),
    options: rest.filter((arg) => arg.startsWith("-")),
  };
}

interface Run {
  readonly cases: readonly TestCase[];
  readonly code: number;
}

/** Runs `deno test` once. */
async function runOnce(
  targets: readonly string[],
  options: readonly string[],
): Promise<Run> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  const { code } = await new Deno.Command(Deno.execPath(), {
    args: [
      "test",
      "--allow-all",
      "--no-prompt",
      "--no-check", // `deno task ok` checks the types of all modules, once.
      `--junit-path=${report}`,
      ...options,
      ...targets,
    ],
    cwd: ROOT,
    // An update check would reach for the network in the middle of the tests, and a backtrace of
    // the runtime would change the standard error that tests compare.
    env: { DENO_NO_UPDATE_CHECK: "1", RUST_BACKTRACE: "0", ...SERVER_ENVIRONMENT },
    stdin: "null",
    stdout: "inherit",
    stderr: "inherit",
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).output();
  const cases = parseReport(await Deno.readTextFile(report).catch(() => ""));
  await Deno.remove(report);
  return { cases, code };
}

async function runTests(args: readonly string[]): Promise<number> {
  const { compat, countSkipped, slow, shuffle, targets, options } = parseArguments(args);
  const all = listFiles();
  const files = targets.length > 0
    ? targets.flatMap((target) => expandTarget(target, all))
    : selectTests(all, compat);
  if (files.length === 0) {
    console.log("No test modules were found");
    console.log(`0 passed, 1 failed${countSkipped ? ", 0 skipped" : ""}`);
    return 1;
  }
  const runs: Run[] = [];
  for (const { targets, parallel } of splitRuns(files)) {
    const own = [`--shuffle=${shuffle}`, ...parallel ? ["--parallel"] : []];
    runs.push(await runOnce(targets, [...own, ...options]));
  }
  const cases = runs.flatMap((run) => run.cases);
  const code = runs.find((run) => run.code !== 0)?.code ?? 0;
  const { passed, failed, skipped } = countTotals(cases, code);
  if (slow) {
    for (const test of cases.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOW_COUNT)) {
      console.log(`${test.seconds.toFixed(2).padStart(8)} s  ${test.name}`);
    }
  }
  for (const test of cases) {
    if (test.outcome === "skipped") console.log(`skipped: ${test.name}`);
  }
  console.log(`shuffled with --shuffle=${shuffle}`);
  console.log(`${passed} passed, ${failed} failed${countSkipped ? `, ${skipped} skipped` : ""}`);
  return failed > 0 ? code || 1 : code;
}

if (import.meta.main) Deno.exit(await runTests(Deno.args));
