// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Two servers on one etcd: the standby takes over from one that is killed or frozen.
 *
 * @module
 */

import { match, ok, rejects, strictEqual } from "node:assert/strict";
import { changed, draft, KIND, ref } from "../../cosi/state/conformance.ts";
import { startEtcd } from "../../cosi/store/etcd_child.ts";
import { hasProgram } from "../compat/lab_server.ts";
import { startStateProcess } from "./state_process.ts";

const MISSING_ETCD = hasProgram("etcd", "--version") ? "" : " (skipped: etcd is not installed)";
const ignore = MISSING_ETCD !== "";

/** The time that a standby may take, plus what a busy test machine adds. */
const TAKEOVER_MS = 30_000;

async function withEtcd(run: (endpoint: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  const etcd = await startEtcd({ dataDirectory: directory });
  try {
    await run(etcd.endpoint);
  } finally {
    await etcd.close();
    await Deno.remove(directory, { recursive: true });
  }
}

for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
  Deno.test({
    name: `a standby serves after the active server got ${signal}${MISSING_ETCD}`,
    ignore,
    fn: () =>
      withEtcd(async (endpoint) => {
        const args = ["--store", "etcd", "--etcd", endpoint];
        await using first = startStateProcess([...args, "--name", "first"]);
        await first.ready(30_000);
        await using second = startStateProcess([...args, "--name", "second"]);
        const made = await first.state.create(draft("a"));
        await rejects(second.state.list(KIND), { code: "unavailable" });
        const start = performance.now();
        first.kill(signal);
        await second.ready(TAKEOVER_MS);
        console.log(`taken over after ${Math.round(performance.now() - start)} ms`);
        match(second.log(), /standing by/);
        strictEqual((await second.state.get(ref("a"))).metadata.version, 1);
        const updated = await second.state.update(changed(made));
        if (signal === "SIGKILL") return;
        const late = first.state.update(changed(made));
        const refused = rejects(late);
        first.kill("SIGCONT");
        strictEqual((await first.status).code, 1);
        await refused;
        match(first.log(), /not the active one any more|another server is the active one/);
        const [only, ...others] = await second.state.list(KIND);
        strictEqual(others.length, 0);
        ok(only);
        strictEqual(only.metadata.version, updated.metadata.version);
      }),
  });
}
