// SPDX-License-Identifier: AGPL-3.0-or-later

import assert, { strictEqual } from "node:assert/strict";
import { dialTcp, listenTcp } from "./tcp.ts";

Deno.test("streams of TCP may be closed twice, on both sides", async () => {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const dialled = await dialTcp({ hostname: "127.0.0.1", port: listener.port });
  for await (const { stream } of listener) {
    stream.close();
    stream.close();
    listener.close();
  }
  strictEqual(await dialled.read(new Uint8Array(1)), null);
  dialled.close();
  dialled.close();
});

Deno.test("listenTcp() hands on a crowd of connections a few in each turn of the loop", async () => {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const address = { hostname: "127.0.0.1", port: listener.port };
  const dialled = await Promise.all(Array.from({ length: 40 }, () => dialTcp(address)));
  let turn = 0;
  const ofTurn = new Map<number, number>();
  let going = true;
  const count = (): void => {
    turn++;
    if (going) setImmediate(count);
  };
  setImmediate(count);
  let accepted = 0;
  for await (const { stream } of listener) {
    ofTurn.set(turn, (ofTurn.get(turn) ?? 0) + 1);
    stream.close();
    if (++accepted === dialled.length) break;
  }
  going = false;
  listener.close();
  for (const stream of dialled) stream.close();
  assert.ok(Math.max(...ofTurn.values()) <= 8, `in one turn: ${[...ofTurn.values()]}`);
});
