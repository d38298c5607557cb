// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs `serve --config FILE` in this process, and prints which permissions the process has left once
 * the API at ADDRESS is ready: `serve_permissions.ts FILE ADDRESS`.
 *
 * @module
 */

import { run } from "../../cli/program.ts";
import { within } from "./server_process.ts";

const [config = "", address = ""] = Deno.args;
const NAMES = ["env", "ffi", "net", "read", "run", "sys", "write"] as const;

void run(["serve", "--config", config]);
await within(60_000, "server is ready", async () => {
  const reply = await fetch(`http://${address}/readyz`).catch(() => undefined);
  await reply?.body?.cancel();
  return reply?.ok === true;
});
const granted = () =>
  NAMES.filter((name) => Deno.permissions.querySync({ name }).state === "granted");
// The API is ready a moment before the program has given up what it needed to start.
await within(
  10_000,
  `only what serving needs is left: ${granted()}`,
  () => !granted().includes("ffi"),
);
console.log(JSON.stringify(granted()));
Deno.exit();
