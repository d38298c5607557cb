// SPDX-License-Identifier: AGPL-3.0-or-later

/** A program that starts itself again with more in its environment, for `restart_test.ts`. @module */

import { restartWith } from "../../cli/restart.ts";

restartWith({ RESTART_MISSING: "new", RESTART_SET: "changed" });
console.log(JSON.stringify({
  args: Deno.args,
  pid: Deno.pid,
  missing: Deno.env.get("RESTART_MISSING") ?? "",
  set: Deno.env.get("RESTART_SET") ?? "",
}));
