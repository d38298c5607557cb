// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the benchmarks of `tests/bench/` one after the other and collects their figures.
 *
 * A benchmark is a module `*_bench.ts` that prints one JSON object a line: `name`, `value`, `unit`.
 * Other lines are passed through to standard error. The figures are printed as a table and written
 * as JSON, with what is needed to read them: the version of the runtime, cores, memory.
 *
 * Usage: `bench.ts [--json FILE] [PATTERN]`, where PATTERN picks benchmarks by file name.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { SERVER_ENVIRONMENT } from "../base/environment.ts";
import { listFiles, ROOT } from "./tree.ts";

/** One figure of a benchmark. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

/** Reads a line of a benchmark's output; `undefined` when it is no figure. */
export function parseFigure(line: string): Figure | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const { name, value, unit } = JSON.parse(line);
    return typeof name === "string" && typeof value === "number" && typeof unit === "string"
      ? { name, value, unit }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Writes a value with three significant digits, and whole numbers from 100 on. */
function formatValue(value: number): string {
  return Math.abs(value) >= 100 ? Math.round(value).toString() : value.toPrecision(3);
}

/** Renders figures as a table. */
export function renderTable(figures: readonly Figure[]): string {
  const rows = figures.map(({ name, value, unit }) => [name, formatValue(value), unit] as const);
  const width = (column: 0 | 1): number => Math.max(0, ...rows.map((row) => row[column].length));
  return rows
    .map(([name, value, unit]) => `${name.padEnd(width(0))}  ${value.padStart(width(1))} ${unit}`)
    .join("\n");
}

/** Runs one benchmark and returns its figures; `undefined` when it failed. */
async function runBenchmark(file: string): Promise<Figure[] | undefined> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-prompt", file],
    cwd: ROOT,
    env: { DENO_NO_UPDATE_CHECK: "1", ...SERVER_ENVIRONMENT },
    stdin: "null",
    stderr: "inherit",
  }).output();
  const figures: Figure[] = [];
  for (const line of new TextDecoder().decode(stdout).split("\n")) {
    const figure = parseFigure(line);
    if (figure !== undefined) figures.push(figure);
    else if (line !== "") console.error(line);
  }
  return success && figures.length > 0 ? figures : undefined;
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    options: { json: { type: "string" } },
    allowPositionals: true,
  });
  const files = listFiles().filter((file) =>
    /^tests\/bench\/.*_bench\.ts$/.test(file) && file.includes(positionals[0] ?? "")
  );
  const figures: Figure[] = [];
  const broken: string[] = [];
  for (const file of files) {
    console.error(`== ${file}`);
    const result = await runBenchmark(file);
    if (result === undefined) broken.push(file);
    else figures.push(...result);
  }
  const json = values.json ?? join(ROOT, "dist/bench.json");
  await Deno.mkdir(dirname(json), { recursive: true });
  const report = {
    deno: Deno.version.deno,
    cores: navigator.hardwareConcurrency,
    memoryBytes: Deno.systemMemoryInfo().total,
    time: new Date().toISOString(),
    figures,
  };
  await Deno.writeTextFile(json, `${JSON.stringify(report, undefined, 2)}\n`);
  console.log(renderTable(figures));
  console.log(`written to ${json}`);
  for (const file of broken) console.error(`${file} failed or gave no figures`);
  Deno.exit(broken.length > 0 || files.length === 0 ? 1 : 0);
}
