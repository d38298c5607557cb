// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The state against the public reference server, by the public Go client: throughput, latency, server
 * CPU time a call. Figures are ours, and their ratio to the reference's in the same run.
 *
 * `BATUTA_BENCH_STORES` picks the stores (`memory,sqlite`), `BATUTA_BENCH_ONLY` the measurements by a
 * regular expression, `BATUTA_BENCH_SECONDS` the time for each (4).
 *
 * @module
 */

const SUITES = new URL("../../../shared/conformance/", import.meta.url).pathname;
const SERVER = new URL("../compat/state_server.ts", import.meta.url).pathname;

/** What a write to the disk is compared by: reads do not depend on the store. */
const ONLY: Readonly<Record<string, string>> = { memory: ".", sqlite: "Create|Update" };

interface Row {
  readonly measurement: string;
  readonly metric: string;
  readonly unit: string;
  readonly tested_median: number;
  readonly ratio?: number;
}

async function copyTree(from: string, to: string): Promise<void> {
  await Deno.mkdir(to);
  for await (const { name, isDirectory } of Deno.readDir(from)) {
    if (isDirectory) await copyTree(`${from}/${name}`, `${to}/${name}`);
    else await Deno.writeFile(`${to}/${name}`, await Deno.readFile(`${from}/${name}`));
  }
}

async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const { code, stdout } = await new Deno.Command(command, {
    args: [...args],
    cwd,
    stderr: "inherit",
  }).output();
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${code}`);
  return new TextDecoder().decode(stdout);
}

/** Measures one store and prints its figures. */
async function measure(store: string, directory: string): Promise<void> {
  const own = `exec ${Deno.execPath()} run -A --no-check ${SERVER} --address $ADDR --data $DATA`;
  const data = store === "memory" ? "" : " -data $DATA";
  const json = await run(`${directory}/bench`, [
    "-cmd",
    `${own} --store ${store}`,
    "-peer-cmd",
    `exec ${directory}/refserver -addr $ADDR${data}`,
    "-duration",
    `${Deno.env.get("BATUTA_BENCH_SECONDS") ?? 4}s`,
    "-only",
    Deno.env.get("BATUTA_BENCH_ONLY") ?? ONLY[store] ?? ".",
    "-json",
    "-",
  ], directory);
  const { rows }: { rows: readonly Row[] } = JSON.parse(json);
  for (const { measurement, metric, unit, tested_median: value, ratio } of rows) {
    const name = `state ${store}: ${measurement}, ${metric}`;
    console.log(JSON.stringify({ name, value, unit }));
    if (ratio === undefined) continue;
    console.log(JSON.stringify({ name: `${name}, to reference`, value: ratio, unit: "x" }));
  }
}

const isThere = await Deno.stat(SUITES).then(() => true, () => false);
if (!isThere) {
  console.error(`The benchmark needs Go and ${SUITES}`);
  Deno.exit(1);
}
const directory = await Deno.makeTempDir();
try {
  await copyTree(SUITES, `${directory}/suite`);
  for (const program of ["bench", "refserver"]) {
    await run(
      "go",
      ["build", "-o", `${directory}/${program}`, `./cmd/${program}`],
      `${directory}/suite`,
    );
  }
  for (const store of (Deno.env.get("BATUTA_BENCH_STORES") ?? "memory,sqlite").split(",")) {
    await measure(store, directory);
  }
} finally {
  await Deno.remove(directory, { recursive: true });
}
