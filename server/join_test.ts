// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { systemClock } from "../base/clock.ts";
import { codeOf } from "../base/errors.ts";
import { type MachineId } from "../base/ids.ts";
import { silentLogger } from "../base/log.ts";
import { Secret } from "../base/redact.ts";
import { openState, type StateCore } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { secureRandom } from "../link/addresses.ts";
import type { JoinPort, JoinRequest } from "../link/provision.ts";
import {
  ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN,
  ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN,
} from "../resources/labels.ts";
import { JoinToken } from "../resources/link/join_token.ts";
import { Link } from "../resources/link/link.ts";
import { LinkStatus } from "../resources/link/link_status.ts";
import { NodeUniqueToken } from "../resources/link/node_unique_token.ts";
import { JoinRefusal } from "../resources/link/join_refusal.ts";
import { createJoinPort } from "./join.ts";
import { createJoinRefusals } from "./join_refusals.ts";
import { putResource } from "./put_resource.ts";
import { peekResource, replaceResource } from "./typed_state.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001" as MachineId;
const TOKEN = JSON.stringify({ Fingerprint: "f", Token: "node-token" });

interface Fixture extends AsyncDisposable {
  readonly state: StateCore;
  readonly port: JoinPort;
  readonly counted: string[];
  silentMs: number;
}

async function startFixture(): Promise<Fixture> {
  const state = await openState({ store: openMemoryStore() });
  await putResource(state, JoinToken, { id: "join", spec: {} });
  const counted: string[] = [];
  const fixture: Fixture = {
    state,
    counted,
    silentMs: 0,
    port: createJoinPort({
      state,
      monitor: {
        expect: () => {},
        silentMs: () => fixture.silentMs,
        run: () => Promise.resolve(),
      },
      rules: { reclaimAfterMs: 600_000, strict: false },
      serverPublicKey: "server-key",
      serverEndpoints: ["192.0.2.1:50180"],
      metrics: {
        countAdmission: (verdict) => counted.push(verdict),
        countRefusal: (reason) => counted.push(reason),
        countPersistenceMark: () => counted.push("mark"),
      },
      refusals: createJoinRefusals(state, systemClock),
      clock: systemClock,
      random: secureRandom,
      log: silentLogger,
    }),
    [Symbol.asyncDispose]: () => state.close(),
  };
  return fixture;
}

/** Joins, with a controller that programs the peer at once. */
async function join(fixture: Fixture, publicKey: string, more: Partial<JoinRequest> = {}) {
  const { signal } = new AbortController();
  await putResource(fixture.state, LinkStatus, { id: ID, spec: { nodePublicKey: publicKey } });
  return await fixture.port.join({ ...requestOf(publicKey), ...more }, { signal });
}

function requestOf(publicKey: string): JoinRequest {
  return {
    machineId: ID,
    publicKey,
    joinToken: new Secret("join"),
    nodeToken: new Secret(""),
    talosVersion: "v1.12.0",
    overGrpc: false,
    remoteAddress: "198.51.100.7",
  };
}

Deno.test("a machine keeps its address over joins and boots", async () => {
  await using fixture = await startFixture();
  const first = await join(fixture, "boot-1");
  deepStrictEqual(await join(fixture, "boot-1"), first);
  fixture.silentMs = 600_000;
  deepStrictEqual(await join(fixture, "boot-2"), first);
  strictEqual(peekResource(fixture.state, Link, ID)?.spec.nodePublicKey, "boot-2");
  deepStrictEqual(fixture.counted, ["new", "sameKey", "reclaimed"]);
});

Deno.test("a newcomer with the UUID of a live machine changes nothing", async () => {
  await using fixture = await startFixture();
  await join(fixture, "alive");
  const before = peekResource(fixture.state, Link, ID);
  await rejects(join(fixture, "newcomer"), (error) => codeOf(error) === "permissionDenied");
  deepStrictEqual(peekResource(fixture.state, Link, ID), before);
  // It is seen that somebody knocks, until the machine itself is let in again.
  const refusal = peekResource(fixture.state, JoinRefusal, ID);
  strictEqual(refusal?.spec.reason, "another machine with this UUID is connected");
  strictEqual(refusal.spec.remoteAddress, "198.51.100.7");
  await join(fixture, "alive");
  strictEqual(peekResource(fixture.state, JoinRefusal, ID), undefined);
});

Deno.test("requests with a wrong join token leave no trace in the state", async () => {
  await using fixture = await startFixture();
  await rejects(
    join(fixture, "boot-1", { joinToken: new Secret("wrong") }),
    (error) => codeOf(error) === "permissionDenied",
  );
  strictEqual(peekResource(fixture.state, JoinRefusal, ID), undefined);
  strictEqual(peekResource(fixture.state, Link, ID), undefined);
});

Deno.test("a source that asks without end is told to wait", async () => {
  await using fixture = await startFixture();
  await join(fixture, "boot-1");
  const codes: unknown[] = [];
  for (let number = 0; number < 1_200 && codes.length === 0; number++) {
    await join(fixture, "boot-1").catch((error) => codes.push(codeOf(error)));
  }
  deepStrictEqual(codes, ["resourceExhausted"]);
  // Another source is not concerned.
  await join(fixture, "boot-1", { remoteAddress: "198.51.100.8" });
});

Deno.test("a flood with one UUID is refused before it waits for its turn", async () => {
  await using fixture = await startFixture();
  await join(fixture, "boot-1");
  const { signal } = new AbortController();
  const order: unknown[] = [];
  await Promise.all(Array.from({ length: 1_200 }, async () => {
    try {
      await fixture.port.join(requestOf("boot-1"), { signal });
      order.push("joined");
    } catch (error) {
      order.push(codeOf(error));
    }
  }));
  strictEqual(order[0], "resourceExhausted");
  strictEqual(order.at(-1), "joined");
});

Deno.test("a token that survived a reboot is remembered, and no presented one is stored", async () => {
  await using fixture = await startFixture();
  await join(fixture, "boot-1");
  await putResource(fixture.state, NodeUniqueToken, { id: ID, spec: { token: TOKEN } });
  await join(fixture, "boot-2", { nodeToken: new Secret(TOKEN) });
  const link = peekResource(fixture.state, Link, ID);
  strictEqual(link?.metadata.annotations[ANNOTATION_FORCE_VALID_NODE_UNIQUE_TOKEN], "");

  // From here on silence is not enough.
  fixture.silentMs = 10_000_000;
  await rejects(join(fixture, "boot-3"), (error) => codeOf(error) === "permissionDenied");
  const other = new Secret(JSON.stringify({ Fingerprint: "f", Token: "stranger" }));
  await rejects(
    join(fixture, "boot-3", { nodeToken: other }),
    (error) => codeOf(error) === "permissionDenied",
  );
  strictEqual(peekResource(fixture.state, NodeUniqueToken, ID)?.spec.token, TOKEN);
  strictEqual(Deno.inspect(peekResource(fixture.state, Link, ID)).includes("stranger"), false);
});

Deno.test("a machine that took over from a silent key is marked with its own", async () => {
  await using fixture = await startFixture();
  await join(fixture, "boot-1");
  fixture.silentMs = 600_000;
  await join(fixture, "boot-2");
  const link = peekResource(fixture.state, Link, ID);
  strictEqual(link?.metadata.annotations[ANNOTATION_RECLAIMED_WITHOUT_NODE_TOKEN], "boot-2");
  strictEqual(link?.spec.connected, false);
});

Deno.test("requests of one machine at the same moment give it one address", async () => {
  await using fixture = await startFixture();
  await putResource(fixture.state, LinkStatus, { id: ID, spec: { nodePublicKey: "boot-1" } });
  const replies = await Promise.all(Array.from({ length: 20 }, () => join(fixture, "boot-1")));
  strictEqual(new Set(replies.map(({ nodeAddressPrefix }) => nodeAddressPrefix)).size, 1);
  deepStrictEqual(fixture.counted.filter((verdict) => verdict === "new").length, 1);
});

Deno.test("what the monitor writes meanwhile is neither lost nor in the way", async () => {
  await using fixture = await startFixture();
  await join(fixture, "boot-1");
  const old = peekResource(fixture.state, Link, ID);
  if (old === undefined) throw new Error("No link");
  fixture.silentMs = 600_000;
  const [, outcome] = await Promise.allSettled([
    join(fixture, "boot-2"),
    replaceResource(fixture.state, Link, old, {
      spec: { ...old.spec, connected: true, lastEndpoint: "203.0.113.9:1" },
    }),
  ]);
  const link = peekResource(fixture.state, Link, ID);
  strictEqual(link?.spec.nodePublicKey, "boot-2");
  strictEqual(link.spec.connected, false);
  // Whoever came second on an old version must not have overwritten the key.
  strictEqual(
    outcome.status === "rejected"
      ? codeOf(outcome.reason)
      : link.spec.lastEndpoint === "203.0.113.9:1",
    outcome.status === "rejected" ? "conflict" : true,
  );
});
