// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { openState } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import type { PeerStats } from "../link/peers.ts";
import { Link } from "../resources/link/link.ts";
import { createLinkMonitor } from "./link_monitor.ts";
import { putResource } from "./put_resource.ts";
import { peekResource } from "./typed_state.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const START_MS = 1_700_000_000_000;

/** A monitor that looks once, and again for every call of `look`. */
async function startFixture() {
  const state = await openState({ store: openMemoryStore() });
  await putResource(state, Link, { id: ID, spec: { nodePublicKey: "key-1" } });
  const stats = new Map<string, PeerStats>();
  const time = { nowMs: START_MS };
  const stop = new AbortController();
  let wake = (): void => {};
  let slept = Promise.withResolvers<void>();
  const monitor = createLinkMonitor({
    state,
    peers: {
      put: () => Promise.resolve(),
      remove: () => Promise.resolve(),
      stats: () => Promise.resolve(new Map(stats)),
    },
    clock: {
      nowMs: () => time.nowMs,
      sleep: (_ms, signal) => {
        slept.resolve();
        return new Promise((resolve) => {
          wake = resolve;
          signal?.addEventListener("abort", () => resolve(), { once: true });
        });
      },
    },
  });
  const running = monitor.run(stop.signal);
  await Promise.race([slept.promise, running]);
  return {
    state,
    monitor,
    stats,
    time,
    look: async () => {
      slept = Promise.withResolvers();
      wake();
      await Promise.race([slept.promise, running]);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
      await state.close();
    },
  };
}

function peer(publicKey: string, lastHandshakeMs: number): PeerStats {
  return { publicKey, lastHandshakeMs, endpoint: "", receivedBytes: 0, sentBytes: 0 };
}

Deno.test("silentMs() counts from the admission of a key that has not spoken yet", async () => {
  await using fixture = await startFixture();
  const { monitor, stats, time } = fixture;
  stats.set(ID, peer("key-1", START_MS));
  time.nowMs += 3_600_000;
  await fixture.look();
  strictEqual(monitor.silentMs(ID), 3_600_000);
  monitor.expect(ID, "key-2");
  strictEqual(monitor.silentMs(ID), 0);
  time.nowMs += 1_000;
  // Asking again under the same key is no sign of life of the tunnel.
  monitor.expect(ID, "key-2");
  strictEqual(monitor.silentMs(ID), 1_000);
  stats.set(ID, peer("key-2", time.nowMs));
  await fixture.look();
  time.nowMs += 2_000;
  strictEqual(monitor.silentMs(ID), 2_000);
});

Deno.test("a peer is down once it has not shaken hands for 275 s", async () => {
  await using fixture = await startFixture();
  const { state, stats, time } = fixture;
  const isConnected = () => peekResource(state, Link, ID)?.spec.connected;
  stats.set(ID, peer("key-1", START_MS));
  await fixture.look();
  strictEqual(isConnected(), true);
  time.nowMs += 274_999;
  await fixture.look();
  strictEqual(isConnected(), true);
  time.nowMs += 1;
  await fixture.look();
  strictEqual(isConnected(), false);
});
