// SPDX-License-Identifier: AGPL-3.0-or-later

// Every folder beside this file with a `__test__.jsonc` is a test of the command line: the steps
// run in turn, in a copy of the folder, and what each prints equals its `.out` file. There,
// `[WILDLINE]` stands for any text within a line and `[WILDCARD]` for any text at all. With
// `"server": true` a server runs meanwhile, and `[SERVER]` in arguments is its address.

import { ok, strictEqual } from "node:assert/strict";
import { cpSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PERMISSIONS } from "../../scripts/compile.ts";
import { startServerProcess } from "../integration/server_process.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));
const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** One call of the program. */
interface Step {
  readonly args: readonly string[];
  /** The file that holds what is printed: standard output, then standard error. */
  readonly output?: string;
  /** 0 when absent. */
  readonly exitCode?: number;
  /** The file that is standard input; empty when absent. */
  readonly input?: string;
}

/** The content of a `__test__.jsonc`. */
interface Spec extends Partial<Step> {
  /** Instead of a single step. */
  readonly steps?: readonly Step[];
  /** Whether the steps talk to a server. */
  readonly server?: boolean;
  /** The reason why it does not run. */
  readonly ignore?: string;
}

/** Reads JSON with comments; a comment is never inside a string. */
function parseJsonc(text: string): Spec {
  return JSON.parse(text.replace(/("(?:\\.|[^"\\])*")|\/\/.*|\/\*[\s\S]*?\*\//g, "$1"));
}

/** Whether a text is what an expectation with wildcards describes. */
function matches(actual: string, expected: string): boolean {
  const pattern = expected.trimEnd().split(/(\[WILDLINE\]|\[WILDCARD\])/).map((part) =>
    part === "[WILDLINE]" ? "[^\\n]*" : part === "[WILDCARD]" ? "[\\s\\S]*" : RegExp.escape(part)
  );
  return new RegExp(`^${pattern.join("")}$`).test(actual.trimEnd());
}

async function runStep(step: Step, cwd: string, server: string): Promise<void> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      `--config=${CONFIG}`,
      ...PERMISSIONS,
      MAIN,
      ...step.args.map((arg) => arg.replace("[SERVER]", server)),
    ],
    cwd,
    env: { NO_COLOR: "1", DENO_NO_UPDATE_CHECK: "1", RUST_BACKTRACE: "0" },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = command.stdin.getWriter();
  if (step.input !== undefined) await writer.write(await Deno.readFile(`${cwd}/${step.input}`));
  await writer.close();
  const { code, stdout, stderr } = await command.output();
  const decoder = new TextDecoder();
  const actual = decoder.decode(stdout) + decoder.decode(stderr);
  const title = `batuta ${step.args.join(" ")}`;
  strictEqual(code, step.exitCode ?? 0, `${title} ended with exit code ${code}:\n${actual}`);
  if (step.output === undefined) return;
  const expected = await Deno.readTextFile(`${cwd}/${step.output}`);
  // Equality shows the difference better where no wildcard is in the way.
  if (!expected.includes("[WILD")) strictEqual(actual.trimEnd(), expected.trimEnd(), title);
  ok(matches(actual, expected), `${title} printed:\n${actual}\nexpected was:\n${expected}`);
}

for (const { name, isDirectory } of Deno.readDirSync(FOLDER)) {
  if (!isDirectory) continue;
  const spec = parseJsonc(Deno.readTextFileSync(`${FOLDER}${name}/__test__.jsonc`));
  Deno.test({
    name: `batuta prints as in tests/spec/${name}${spec.ignore ? ` (${spec.ignore})` : ""}`,
    ignore: spec.ignore !== undefined,
    async fn() {
      const cwd = await Deno.makeTempDir();
      try {
        cpSync(`${FOLDER}${name}`, cwd, { recursive: true });
        await using server = spec.server ? await startServerProcess() : undefined;
        const address = `http://127.0.0.1:${server?.apiPort}`;
        const { steps, args = [], ...rest } = spec;
        for (const step of steps ?? [{ args, ...rest }]) await runStep(step, cwd, address);
      } finally {
        await Deno.remove(cwd, { recursive: true });
      }
    },
  });
}
