// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What idle streams and sessions take on both sides, and that closed ones take nothing.
 *
 * @module
 */

import assert from "node:assert/strict";
import { endChild } from "../child_process.ts";
import type { Growth } from "./rpc_memory_peer.ts";

const PEER = new URL("./rpc_memory_peer.ts", import.meta.url).pathname;
const KIB = 1024;
const MIB = 1024 * KIB;

// A side that hangs ends with its test.
const DEADLINE_MS = 120_000;

// A young generation of 1 MiB: that of a busy process grows to 48 MiB, once, and ten thousand idle
// streams are 20 MiB.
const FLAGS = "--v8-flags=--expose-gc,--max-semi-space-size=1";

function start(...args: string[]): Deno.ChildProcess {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "-A", "--no-check", FLAGS, PEER, ...args],
    stdout: "piped",
    stderr: "inherit",
    signal: AbortSignal.timeout(DEADLINE_MS),
  }).spawn();
}

/** By how many bytes each side grows with `count` more of a kind. */
async function grow(kind: string, count: number): Promise<Growth> {
  const server = start("server");
  const reader = server.stdout.getReader();
  try {
    const { value } = await reader.read();
    const [port = "", tlsPort = ""] = new TextDecoder().decode(value).trim().split(" ");
    const { success, stdout } = await start("client", port, tlsPort, kind, String(count)).output();
    assert.ok(success, `the client ended early with ${kind}`);
    return JSON.parse(new TextDecoder().decode(stdout));
  } finally {
    await reader.cancel();
    await endChild(server, "SIGKILL");
  }
}

interface Bound {
  readonly kind: string;
  readonly count: number;
  readonly bytesEach: number;
}

const BOUNDS: readonly Bound[] = [
  { kind: "streams", count: 10_000, bytesEach: 2 * KIB },
  { kind: "sessions", count: 2000, bytesEach: 20 * KIB },
  { kind: "tls", count: 500, bytesEach: 75 * KIB },
];

for (const { kind, count, bytesEach } of BOUNDS) {
  Deno.test(`an idle one of ${count} ${kind} takes at most ${bytesEach / KIB} KiB`, async () => {
    const { server, client } = await grow(kind, count);
    for (const [side, { rss, live }] of Object.entries({ server, client })) {
      const text = `${side}: ${(live / count / KIB).toFixed(2)} KiB live, ` +
        `${(rss / count / KIB).toFixed(2)} KiB resident for each`;
      console.log(`${kind}, ${text}`);
      assert.ok(live <= count * bytesEach && rss <= count * bytesEach, text);
    }
  });
}

Deno.test("10,000 sessions that were opened and closed leave memory where it was", async () => {
  const { server, client } = await grow("churn", 10_000);
  for (const [side, { rss, live }] of Object.entries({ server, client })) {
    const text = `${side}: ${(live / MIB).toFixed(2)} MiB live, ${(rss / MIB).toFixed(1)} resident`;
    console.log(`churn, ${text}`);
    assert.ok(rss <= 5 * MIB && live <= MIB, text);
  }
});
