// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok } from "node:assert/strict";

const PROGRAM = new URL("restart_program.ts", import.meta.url).pathname;
const ARGS = ["--flag", "two words", ""];

/** What the program prints, and which process it was. */
async function run(...flags: string[]): Promise<{ pid: number; printed: unknown }> {
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-check",
      "--no-prompt",
      "--allow-env",
      ...flags,
      PROGRAM,
      ...ARGS,
    ],
    env: { RESTART_SET: "user's" },
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const { success, stdout } = await child.output();
  ok(success);
  return { pid: child.pid, printed: JSON.parse(new TextDecoder().decode(stdout)) };
}

Deno.test({
  name: "restartWith() starts the program again in its process with what was missing",
  ignore: Deno.build.os !== "linux",
  fn: async () => {
    const { pid, printed } = await run("--allow-ffi", "--allow-read");
    deepStrictEqual(printed, { args: ARGS, pid, missing: "new", set: "user's" });
  },
});

Deno.test("restartWith() goes on where it may not call the C library", async () => {
  const { pid, printed } = await run();
  deepStrictEqual(printed, { args: ARGS, pid, missing: "", set: "user's" });
});
