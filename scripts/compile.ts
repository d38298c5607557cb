// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Makes the one executable, `dist/batuta`, and says in which way.
 *
 * `deno compile` needs a runtime part that only the release host of Deno has, or that DENORT_BIN
 * names. Where neither can be had, the packer makes an equivalent file out of the running `deno`.
 * Either way the permissions are baked in, and the result is started once before it is kept.
 *
 * Usage: `compile.ts [--out FILE] [--way compile|pack] [--main MODULE]`
 *
 * @module
 */

import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { formatError } from "../base/errors.ts";
import { packExecutable } from "./pack.ts";
import { ROOT } from "./tree.ts";

/** How an executable was made. */
export type Way = "DENORT_BIN" | "deno compile" | "packer";

/**
 * What the program may do at most: the sum of what its subcommands need. Each of them gives up the
 * rest before it is loaded (`cli/permissions.ts`).
 *
 * Files and environment are not narrowed, because their names come from the user; nor is the
 * network, because UDP to any peer needs all of it. Native code is the C library of the system, which
 * only the server's tunnel uses; the runtime cannot narrow that to a name.
 */
export const PERMISSIONS: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run",
  "--allow-ffi",
  "--allow-sys=hostname",
];

const UNSTABLE: readonly string[] = ["--unstable-net", "--unstable-kv"];

/** Bounds a `deno compile` that waits for a host that does not answer. */
const COMPILE_TIMEOUT_MS = 120_000;

/** Options of {@linkcode compile}. */
export interface CompileOptions {
  /** The entry module. */
  readonly main: string;
  /** The file to write. */
  readonly out: string;
  /** Tries only this; both in turn when absent. */
  readonly way?: "compile" | "pack";
  readonly permissions?: readonly string[];
  /** Receives what is worth telling. */
  readonly report?: (line: string) => void;
}

interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

async function runDeno(
  args: readonly string[],
  options: { readonly signal?: AbortSignal } = {},
): Promise<Outcome> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", RUST_BACKTRACE: "0" },
    stdin: "null",
    ...options,
  }).output();
  const decoder = new TextDecoder();
  return { ok: success, output: `${decoder.decode(stderr)}${decoder.decode(stdout)}`.trim() };
}

function runCompiler({ main, out, permissions = PERMISSIONS }: CompileOptions): Promise<Outcome> {
  const args = ["compile", "--no-check", ...permissions, ...UNSTABLE, "--output", out, main];
  return runDeno(args, { signal: AbortSignal.timeout(COMPILE_TIMEOUT_MS) });
}

async function runPacker({ main, out, permissions = PERMISSIONS }: CompileOptions): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const bundle = join(folder, "program.js");
    const { ok, output } = await runDeno([
      "bundle",
      "--quiet",
      "--minify",
      "--output",
      bundle,
      main,
    ]);
    if (!ok) throw new Error(`Cannot bundle "${main}":\n${output}`);
    const file = packExecutable({
      runtime: await Deno.readFile(Deno.execPath()),
      program: await Deno.readFile(bundle),
      flags: [...permissions, ...UNSTABLE],
    });
    // A running program cannot be overwritten, but its name can be taken over.
    await Deno.writeFile(`${out}.part`, file, { mode: 0o755 });
    await Deno.rename(`${out}.part`, out);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The line of a failed run that tells the innermost cause; the runtime prints it last. */
function reasonOf(output: string): string {
  return output.split("\n").at(-1)?.replace(/^\s*\d+: /, "") || "no reason given";
}

/**
 * Makes the executable.
 *
 * @returns the way in which it was made
 */
export async function compile(options: CompileOptions): Promise<Way> {
  const { out, way, report = () => {} } = options;
  await Deno.mkdir(dirname(out), { recursive: true });
  if (way !== "pack") {
    const { ok, output } = await runCompiler(options);
    if (ok) return Deno.env.has("DENORT_BIN") ? "DENORT_BIN" : "deno compile";
    if (way === "compile") throw new Error(`Cannot compile:\n${output}`);
    report(`deno compile is not possible here (${reasonOf(output)})`);
  }
  await runPacker(options);
  return "packer";
}

/** Starts the executable once, with nothing in its environment, and returns what it printed. */
export async function probe(file: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(file, {
    args: [...args],
    clearEnv: true,
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  if (code !== 0) {
    throw new Error(`Cannot start "${file}": exit code ${code}: ${decoder.decode(stderr).trim()}`);
  }
  return decoder.decode(stdout).trim();
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: { out: { type: "string" }, way: { type: "string" }, main: { type: "string" } },
  });
  const { way } = values;
  if (way !== undefined && way !== "compile" && way !== "pack") {
    throw new Error(`--way must be "compile" or "pack": current value is "${way}"`);
  }
  const out = values.out ?? join(ROOT, "dist/batuta");
  const used = await compile({
    main: values.main ?? join(ROOT, "main.ts"),
    out,
    ...(way === undefined ? {} : { way }),
    report: (line) => console.log(line),
  });
  // A DENORT_BIN that names `deno` gives a program that is `deno`: only a start tells.
  const version = await probe(out, ["version"]);
  const { size } = await Deno.stat(out);
  console.log(`${out}: ${(size / 1e6).toFixed(1)} MB, made by ${used}, says "${version}"`);
}

if (import.meta.main) {
  try {
    await main();
  } catch (error) {
    console.error(formatError(error));
    Deno.exit(1);
  }
}
