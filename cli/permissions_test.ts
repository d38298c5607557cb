// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";

/** Runs a program with all permissions that drops some and then tries what they would allow. */
async function runDropping(names: readonly string[]): Promise<Record<string, string>> {
  const program = `
    import { dropPermissions } from "${new URL("permissions.ts", import.meta.url)}";
    dropPermissions(${JSON.stringify(names)});
    const attempts = {
      write: () => Deno.makeTempFileSync(),
      run: () => new Deno.Command(Deno.execPath(), { args: ["--version"] }).outputSync(),
      ffi: () => Deno.dlopen("/nowhere.so", {}),
      env: () => Deno.env.get("HOME"),
    };
    const outcome = {};
    for (const [name, attempt] of Object.entries(attempts)) {
      try {
        const file = attempt();
        if (name === "write") Deno.removeSync(file);
        outcome[name] = "done";
      } catch (error) {
        outcome[name] = error.name;
      }
    }
    console.log(JSON.stringify(outcome));`;
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", program],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout));
}

Deno.test("dropPermissions() takes what it names, and nothing else", async () => {
  deepStrictEqual(await runDropping(["write", "run", "ffi"]), {
    write: "NotCapable",
    run: "NotCapable",
    ffi: "NotCapable",
    env: "done",
  });
  deepStrictEqual(await runDropping(["env"]), {
    write: "done",
    run: "done",
    // The library does not exist, so the attempt fails, but not for want of permission.
    ffi: "Error",
    env: "NotCapable",
  });
});
