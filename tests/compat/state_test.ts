// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The upstream suites of the state, for states and for controllers, against a started server.
 *
 * @module
 */

import { deepStrictEqual } from "node:assert/strict";
import { hasProgram } from "./lab_server.ts";

const SUITES = new URL("../../../shared/conformance/", import.meta.url).pathname;
const SERVER = new URL("state_server.ts", import.meta.url).pathname;

/** Methods of the suites; the one for controllers runs with and without a cache. */
const STATE_TESTS = 24;
const RUNTIME_TESTS = 28;

async function isThere(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}

const MISSING_ETCD = hasProgram("etcd", "--version") ? "" : " (skipped: etcd is not installed)";
const ready = hasProgram("go", "version") && await isThere(SUITES);
if (!ready) console.warn(`The upstream suites need Go and ${SUITES}: they are left out`);

async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyTree(`${from}/${name}`, `${to}/${name}`);
    else await Deno.writeFile(`${to}/${name}`, await Deno.readFile(`${from}/${name}`));
  }
}

/** Runs one suite on one store and returns how many of its tests passed. */
async function runSuite(test: string, store: string): Promise<number> {
  const temporary = await Deno.makeTempDir();
  try {
    await copyTree(SUITES, `${temporary}/suite`);
    const server =
      `exec ${Deno.execPath()} run -A --no-check ${SERVER} --address $ADDR --data $DATA`;
    const { code, stdout } = await new Deno.Command("go", {
      args: ["test", ".", "-count=1", "-run", `^${test}$`, "-v"],
      cwd: `${temporary}/suite`,
      env: { BATUTA_SERVER_CMD: `${server} --store ${store}`, GOFLAGS: "-mod=mod" },
      stderr: "inherit",
    }).output();
    const text = new TextDecoder().decode(stdout);
    if (code !== 0) throw new Error(`The suite ${test} failed on ${store}:\n${text}`);
    const depth = test === "TestState" ? 1 : 2;
    const passed = new RegExp(`^${" ".repeat(4 * depth)}--- PASS`, "gm");
    return text.match(passed)?.length ?? 0;
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

for (const store of ["memory", "sqlite", "kv", "etcd"]) {
  const missing = store === "etcd" ? MISSING_ETCD : "";
  Deno.test({
    name: `the upstream suites pass on ${store}, that of controllers direct and cached${missing}`,
    ignore: !ready || missing !== "",
    // They wait more than they work, so both run at once.
    fn: async () => {
      const passed = await Promise.all(
        ["TestState", "TestRuntime"].map((test) => runSuite(test, store)),
      );
      deepStrictEqual(passed, [STATE_TESTS, RUNTIME_TESTS]);
    },
  });
}
