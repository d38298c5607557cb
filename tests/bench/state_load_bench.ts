// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Loads a large state from a file: `deno run -A tests/bench/state_load_bench.ts [--count 300000]`.
 *
 * It fills an encrypted SQLite file with resources of 1 kB, each with four labels, opens it in a
 * process of its own and prints the time to load, the memory and the time of lists by label.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { tombstoneMetadata } from "../../cosi/state/tombstone.ts";
import { loopTurn } from "../../base/turn.ts";
import { openState, type StateCore } from "../../cosi/state/core.ts";
import type { LabelQuery } from "../../cosi/state/label_query.ts";
import { openSqliteStore } from "../../cosi/store/sqlite.ts";
import { report } from "./figures.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: { count: { type: "string", default: "300000" }, load: { type: "string" } },
});

const KINDS = 30;
const PER_CLUSTER = 100;
const KEYS = { current: new Uint8Array(32).fill(7) };
const SPEC_BYTES = 1000;
const UPDATE_MS = 15_000;

/** Bytes that compress about as well as a spec: half text that repeats, half identifiers. */
function specOf(number: number): Uint8Array {
  const spec = new TextEncoder().encode(
    `machine ${number} has address 10.0.${number % 256}.1 and image factory.example.org/installer `
      .repeat(12).slice(0, SPEC_BYTES),
  );
  crypto.getRandomValues(spec.subarray(SPEC_BYTES / 2));
  return spec;
}

async function fill(path: string, count: number): Promise<void> {
  const state = await openState({ store: await openSqliteStore({ path, keys: KEYS }) });
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      const type = `Things${number % KINDS}.test.batuta.dev`;
      const id = crypto.randomUUID();
      const labels = {
        "omni.sidero.dev/cluster": `cluster-${Math.floor(number / KINDS / PER_CLUSTER)}`,
        "omni.sidero.dev/machine": id,
        "omni.sidero.dev/role-worker": "",
        "omni.sidero.dev/platform": "metal",
      };
      await state.create({
        metadata: { ...tombstoneMetadata("default", type, id), labels },
        protoSpec: specOf(number),
        yamlSpec: "",
      });
    }
  };
  await Promise.all(Array.from({ length: 2048 }, write));
  await state.close();
}

/** Updates resources all over the state; how many, and for how long nothing else had its turn. */
async function updateForAWhile(
  state: StateCore,
): Promise<{ readonly updates: number; readonly longestMs: number }> {
  const endMs = performance.now() + UPDATE_MS;
  const all = (await Promise.all(
    Array.from(
      { length: KINDS },
      (_, kind) => state.list({ namespace: "default", type: `Things${kind}.test.batuta.dev` }, {}),
    ),
  )).flat();
  let updates = 0;
  const write = async (from: number): Promise<void> => {
    for (let at = from; performance.now() < endMs; at = (at + 7919) % all.length) {
      const resource = all[at];
      if (resource === undefined) continue;
      all[at] = await state.update({
        metadata: resource.metadata,
        protoSpec: specOf(at),
        yamlSpec: "",
      });
      updates++;
    }
  };
  let longestMs = 0;
  const watch = async (): Promise<void> => {
    for (let lastMs = performance.now(); lastMs < endMs;) {
      await loopTurn();
      const nowMs = performance.now();
      longestMs = Math.max(longestMs, nowMs - lastMs);
      lastMs = nowMs;
    }
  };
  await Promise.all([watch(), ...Array.from({ length: 64 }, (_, at) => write(at * 4001))]);
  return { updates, longestMs };
}

async function measure(path: string): Promise<void> {
  const start = performance.now();
  const state = await openState({ store: await openSqliteStore({ path, keys: KEYS }) });
  const loadedMs = performance.now() - start;
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = Deno.memoryUsage();
  const labelQueries: LabelQuery[] = [{
    terms: [
      { key: "omni.sidero.dev/cluster", op: "equal", values: ["cluster-7"], invert: false },
      { key: "omni.sidero.dev/role-worker", op: "exists", values: [], invert: false },
    ],
  }];
  const kind = { namespace: "default", type: "Things3.test.batuta.dev" };
  const times: number[] = [];
  let found = 0;
  for (let i = 0; i < 200; i++) {
    const before = performance.now();
    found = (await state.list(kind, { labelQueries })).length;
    times.push(performance.now() - before);
  }
  const [first = 0] = times;
  times.sort((a, b) => a - b);
  const heldUp = await updateForAWhile(state);
  const total = [...state.resourceCounts().values()].reduce((sum, count) => sum + count, 0);
  const figures: readonly (readonly [string, number, string])[] = [
    ["resources", total, "count"],
    ["load", loadedMs / 1000, "s"],
    ["CPU time of both threads until then", (user + system) / 1e6, "s"],
    ["RSS after load", rss / 2 ** 20, "MiB"],
    ["heap after load", heapUsed / 2 ** 20, "MiB"],
    ["external after load", external / 2 ** 20, "MiB"],
    [`first list of ${found} by label`, first, "ms"],
    [`list of ${found} by label, median`, times[100] ?? 0, "ms"],
    ["updates, durable", heldUp.updates / (UPDATE_MS / 1000), "/s"],
    ["longest hold-up of the main thread meanwhile", heldUp.longestMs, "ms"],
  ];
  for (const [name, value, unit] of figures) {
    report(`state load: ${name}`, value, unit);
  }
  await state.close();
}

if (values.load !== undefined) await measure(values.load);
else {
  const directory = await Deno.makeTempDir();
  try {
    const path = `${directory}/state.db`;
    const start = performance.now();
    await fill(path, Number(values.count));
    const rate = Number(values.count) / ((performance.now() - start) / 1000);
    const { size } = await Deno.stat(path);
    report("state load: fill", rate, "writes/s");
    report("state load: file", size / 2 ** 20, "MiB");
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", import.meta.filename ?? "", "--load", path],
    }).output();
    Deno.stdout.writeSync(stdout);
    Deno.stderr.writeSync(stderr);
    if (!success) throw new Error("Cannot measure the load");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
