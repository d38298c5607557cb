// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Kills a server at random moments under load: what it acknowledged must be there afterwards.
 *
 * `BATUTA_KILLS` is how often each store is tried (5), `BATUTA_SEED` replays the moments.
 *
 * @module
 */

import { ok, strictEqual } from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import { codeOf } from "../../base/errors.ts";
import { changed, draft, KIND, specText } from "../../cosi/state/conformance.ts";
import type { RawResource } from "../../cosi/state/raw_resource.ts";
import type { State } from "../../cosi/state/state.ts";
import { startEtcd } from "../../cosi/store/etcd_child.ts";
import { hasProgram } from "../compat/lab_server.ts";
import { startStateProcess, type StateProcess } from "./state_process.ts";

const KILLS = Number(Deno.env.get("BATUTA_KILLS") ?? 5);
const SEED = Number(Deno.env.get("BATUTA_SEED") ?? Date.now() % 1_000_000);
const WRITERS = 32;

/** Updates of one ID before its writer goes on to another. */
const UPDATES = 20;

const MISSING_ETCD = hasProgram("etcd", "--version") ? "" : " (skipped: etcd is not installed)";

/** What is known of one ID: its version is the number of its writes, and its spec says so too. */
interface Known {
  acknowledged: number;
  /** The version that a write would have made whose answer did not come. */
  uncertain: number | undefined;
}

function spec(version: number): string {
  return `${version} ${"x".repeat(300)}`;
}

function encode(version: number): Uint8Array {
  return new TextEncoder().encode(spec(version));
}

/** Writes until the server is gone. */
async function write(state: State, prefix: string, known: Map<string, Known>): Promise<void> {
  for (let number = 0;; number++) {
    const id = `${prefix}-${number}`;
    const entry: Known = { acknowledged: 0, uncertain: undefined };
    known.set(id, entry);
    let resource: RawResource | undefined;
    for (let version = 1; version <= UPDATES; version++) {
      entry.uncertain = version;
      try {
        resource = resource === undefined
          ? await state.create(draft(id, spec(version)))
          : await state.update({ ...changed(resource), protoSpec: encode(version) });
      } catch (error) {
        if (["unavailable", "internal", "cancelled", "unknown"].includes(codeOf(error) ?? "")) {
          return;
        }
        throw error;
      }
      strictEqual(resource.metadata.version, version);
      entry.acknowledged = version;
      entry.uncertain = undefined;
    }
  }
}

async function verify(state: State, known: Map<string, Known>, round: string): Promise<void> {
  const stored = new Map<string, RawResource>();
  for (const resource of await state.list(KIND)) stored.set(resource.metadata.id, resource);
  for (const [id, entry] of known) {
    const resource = stored.get(id);
    const version = resource?.metadata.version ?? 0;
    ok(
      version === entry.acknowledged || version === entry.uncertain,
      `${round}: ${id} has version ${version}, acknowledged was ${entry.acknowledged}`,
    );
    if (resource !== undefined) strictEqual(specText(resource), spec(version), `${round}: ${id}`);
    known.set(id, { acknowledged: version, uncertain: undefined });
  }
  for (const id of stored.keys()) ok(known.has(id), `${round}: nobody wrote ${id}`);
}

async function startReady(start: () => StateProcess, attempts: number): Promise<StateProcess> {
  for (let attempt = 1;; attempt++) {
    const server = start();
    try {
      await server.ready(60_000);
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      if (attempt >= attempts) throw error;
    }
  }
}

interface KillOptions {
  /** On a busy machine a server may lose its lease and end by itself: a crash like others. */
  readonly mayEndByItself: boolean;
}

async function killOften(
  start: () => StateProcess,
  { mayEndByItself }: KillOptions,
): Promise<void> {
  const attempts = mayEndByItself ? 5 : 1;
  console.log(`seed ${SEED}`);
  let random = SEED;
  const known = new Map<string, Known>();
  for (let kill = 0; kill < KILLS; kill++) {
    await using server = await startReady(start, attempts);
    await verify(server.state, known, `seed ${SEED}, before kill ${kill}`);
    const writers = Array.from(
      { length: WRITERS },
      (_, writer) => write(server.state, `k${kill}-w${writer}`, known),
    );
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648;
    let hasEnded = false;
    void server.status.then(() => hasEnded = true);
    // The kill comes even when no writer is left, or nothing would end the server.
    const killing = systemClock.sleep(50 + random % 400).then(() => {
      if (!hasEnded) server.kill("SIGKILL");
    });
    const [{ signal, code }] = await Promise.all([server.status, killing, ...writers]);
    if (!mayEndByItself || code !== 1) strictEqual(signal, "SIGKILL", server.log());
  }
  await using server = await startReady(start, attempts);
  await verify(server.state, known, `seed ${SEED}, at the end`);
  const acknowledged = [...known.values()].reduce((sum, entry) => sum + entry.acknowledged, 0);
  console.log(`${acknowledged} writes survived ${KILLS} kills`);
  ok(acknowledged > 0);
}

async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await Deno.makeTempDir();
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("an acknowledged write survives SIGKILL on sqlite", () =>
  inDirectory((directory) =>
    killOften(() => startStateProcess(["--store", "sqlite", "--data", directory]), {
      mayEndByItself: false,
    })
  ));

Deno.test({
  name: `an acknowledged write survives SIGKILL on etcd${MISSING_ETCD}`,
  ignore: MISSING_ETCD !== "",
  fn: () =>
    inDirectory(async (directory) => {
      const etcd = await startEtcd({ dataDirectory: directory });
      try {
        const args = ["--store", "etcd", "--etcd", etcd.endpoint, "--ttl", "3"];
        await killOften(() => startStateProcess(args), { mayEndByItself: true });
      } finally {
        await etcd.close();
      }
    }),
});
