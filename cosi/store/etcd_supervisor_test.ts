// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Clock } from "../../base/clock.ts";
import { formatError } from "../../base/errors.ts";
import { createLogger } from "../../base/log.ts";
import { draft, KIND } from "../state/conformance.ts";
import { openState } from "../state/core.ts";
import { createEtcdClient } from "./etcd_client.ts";
import { openEtcdStore } from "./etcd.ts";
import { levelOfLine, startDelayMs, superviseEtcd } from "./etcd_supervisor.ts";

const ignore = (await new Deno.Command("sh", { args: ["-c", "command -v etcd"], stdout: "null" })
  .output()).code !== 0;

if (ignore) console.warn("There is no etcd: the tests of its supervision are left out");

/** An etcd that says its process and whether it may start is decided by a file. */
const PROGRAM = `#!/bin/sh
if [ -e "$0.broken" ]; then echo "no luck" >&2; exit 3; fi
echo $$ > "$0.pid"
exec etcd "$@"
`;

async function withProgram(
  run: (paths: { binary: string; dataDirectory: string }) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    const binary = `${directory}/program`;
    await Deno.writeTextFile(binary, PROGRAM, { mode: 0o755 });
    await run({ binary, dataDirectory: `${directory}/data` });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

function kill(binary: string): void {
  Deno.kill(Number(Deno.readTextFileSync(`${binary}.pid`)), "SIGKILL");
}

Deno.test("startDelayMs() waits longer each time and gives up", () => {
  const delays = [1, 2, 3, 4, 5, 6].map((attempt) => startDelayMs(attempt, () => 0));
  deepStrictEqual(delays, [0, 500, 1_000, 2_000, 4_000, undefined]);
});

Deno.test("levelOfLine() takes what is no line of a log for a crash", () => {
  strictEqual(levelOfLine('{"level":"info","msg":"x"}'), "debug");
  strictEqual(levelOfLine('{"level":"warn","msg":"x"}'), "warn");
  strictEqual(levelOfLine('{"level":"fatal","msg":"x"}'), "error");
  strictEqual(levelOfLine("panic: runtime error"), "warn");
});

Deno.test({
  name: "superviseEtcd() starts etcd again, and the state over it goes on",
  ignore,
  fn: () =>
    withProgram(async (paths) => {
      const lines: string[] = [];
      const failed: unknown[] = [];
      const etcd = await superviseEtcd({
        ...paths,
        log: createLogger({ write: (line) => lines.push(line) }),
        onFailure: (error) => failed.push(error),
      });
      const open = async () =>
        await openState({
          store: await openEtcdStore({
            endpoints: [etcd.endpoint],
            identity: "one",
            isAlone: true,
            leaseTtlSeconds: 600,
            onLost: (error) => failed.push(error),
          }),
        });
      const state = await open();
      for (const id of ["a", "b"]) {
        kill(paths.binary);
        await state.create(draft(id));
      }
      // One that is alone does not wait for the lease of another to end.
      const second = await open();
      strictEqual((await second.list(KIND)).length, 2);
      await second.close();
      await state.close();
      await etcd.close();
      deepStrictEqual(failed, []);
      ok(lines.some((line) => /Killed","msg":"etcd ended"/.test(line)), lines.join(""));
      const client = createEtcdClient({ endpoints: [etcd.endpoint] });
      strictEqual(await client.range({ key: Uint8Array.of(0) }).catch(() => "gone"), "gone");
      client.close();
    }),
});

Deno.test({
  name: "superviseEtcd() gives up an etcd that does not start any more, and says what it printed",
  ignore,
  fn: () =>
    withProgram(async (paths) => {
      const failed = Promise.withResolvers<unknown>();
      const waits: number[] = [];
      const clock: Clock = {
        nowMs: () => 0,
        sleep: (ms) => Promise.resolve(void waits.push(ms)),
      };
      const lines: string[] = [];
      const etcd = await superviseEtcd({
        ...paths,
        clock,
        log: createLogger({ write: (line) => lines.push(line) }),
        onFailure: failed.resolve,
      });
      await Deno.writeTextFile(`${paths.binary}.broken`, "");
      kill(paths.binary);
      match(formatError(await failed.promise), /Cannot keep etcd running: 5 starts in a row/);
      strictEqual(waits.length, 5);
      strictEqual(
        lines.filter((line) => /"reason":"no luck","msg":"etcd says"/.test(line)).length,
        5,
      );
      await etcd.close();
    }),
});
