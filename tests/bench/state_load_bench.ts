// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Loads a large state from a file: `deno run -A tests/bench/state_load_bench.ts [--count 300000]`.
 *
 * It fills an encrypted SQLite file with resources of 1 kB, each with four labels, opens it in a
 * process of its own and prints the time to load, the memory and the time of lists by label. Then it
 * serves that state, updates it for a minute and prints how long the event loop was held up.
 *
 * @module
 */

import process from "node:process";
import { parseArgs } from "node:util";
import { tombstoneMetadata } from "../../cosi/state/tombstone.ts";
import { SERVER_ENVIRONMENT } from "../../base/environment.ts";
import { openState } from "../../cosi/state/core.ts";
import { createRemoteState } from "../../cosi/state/grpc_client.ts";
import type { LabelQuery } from "../../cosi/state/label_query.ts";
import { openSqliteStore } from "../../cosi/store/sqlite.ts";
import { createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { TextLineStream } from "../compat/line_stream.ts";
import { report } from "./figures.ts";

const { values } = parseArgs({
  args: Deno.args,
  options: { count: { type: "string", default: "300000" }, load: { type: "string" } },
});

const KINDS = 30;
const PER_CLUSTER = 100;
const KEYS = { current: new Uint8Array(32).fill(7) };
const SPEC_BYTES = 1000;
/** Long enough for some collections of the server's old generation. */
const UPDATE_MS = 60_000;
const SERVER = "../compat/state_server.ts";
/** The server's own message of that. */
const HELD_UP = "event loop held up, in ms";

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

/** Updates resources all over a served state, 64 at once; how many a second. */
async function updateForAWhile(port: number): Promise<number> {
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "state",
  });
  const state = createRemoteState(channel);
  const all = (await Promise.all(
    Array.from(
      { length: KINDS },
      (_, kind) => state.list({ namespace: "default", type: `Things${kind}.test.batuta.dev` }),
    ),
  )).flat();
  const endMs = performance.now() + UPDATE_MS;
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
  await Promise.all(Array.from({ length: 64 }, (_, at) => write(at * 4001)));
  channel.close();
  return updates / (UPDATE_MS / 1000);
}

/** Serves the state, updates it, and reports what the server says of its event loop. */
async function serve(directory: string): Promise<void> {
  const server = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", new URL(SERVER, import.meta.url).pathname],
      ...["--address", "127.0.0.1:0", "--data", directory, "--store", "sqlite", "--delays"],
    ],
    env: SERVER_ENVIRONMENT,
    stdout: "null",
    stderr: "piped",
  }).spawn();
  for await (const line of logLines(server.stderr)) {
    if (line.msg === "listening") {
      const port = Number(line.address?.split(":").at(-1));
      report("state load: updates of a served state, durable", await updateForAWhile(port), "/s");
      server.kill("SIGTERM");
    } else if (line.msg === HELD_UP) console.log(`state load: ${HELD_UP}: ${line.reason}`);
  }
  await server.status;
}

interface LogLine {
  readonly msg: string;
  readonly address?: string;
  readonly reason?: string;
}

async function* logLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncIterable<LogLine> {
  const lines = stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
  for await (const line of lines) yield JSON.parse(line);
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
      env: SERVER_ENVIRONMENT,
    }).output();
    Deno.stdout.writeSync(stdout);
    Deno.stderr.writeSync(stderr);
    if (!success) throw new Error("Cannot measure the load");
    await serve(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
