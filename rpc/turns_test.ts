// SPDX-License-Identifier: AGPL-3.0-or-later

import assert, { strictEqual } from "node:assert/strict";
import { busy, countTurns } from "../base/test_turns.ts";
import { dialTcp, listenTcp } from "./tcp.ts";
import { lineTurn, Streak } from "./turns.ts";

const HALF_A_SECOND = 500;

/** A connection that is there for a while makes a call, so that the line has to share. */
function goAhead(): void {
  const later = performance.now() + HALF_A_SECOND;
  strictEqual(new Streak().turn(100, later - 1, later), undefined);
}

Deno.test("lineTurn() spreads work over turns while somebody goes ahead", async () => {
  goAhead();
  const turns = new Set<number>();
  await countTurns(async (now) => {
    await Promise.all(Array.from({ length: 40 }, async () => {
      const turn = lineTurn();
      if (turn !== undefined) await turn;
      busy(0.05);
      turns.add(now());
    }));
  });
  // 2 ms of work at 0.05 ms a turn, and a piece too many in each of them.
  assert.ok(turns.size >= 12, `${turns.size} turns`);
});

Deno.test("listenTcp() spreads a crowd that dials at once over turns", async () => {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const address = { hostname: "127.0.0.1", port: listener.port };
  const dialled = await Promise.all(Array.from({ length: 40 }, () => dialTcp(address)));
  const turns = new Set<number>();
  await countTurns(async (turn) => {
    let accepted = 0;
    for await (const { stream } of listener) {
      goAhead();
      busy(0.05);
      turns.add(turn());
      stream.close();
      if (++accepted === dialled.length) break;
    }
  });
  listener.close();
  for (const stream of dialled) stream.close();
  assert.ok(turns.size >= 12, `${turns.size} turns`);
});

Deno.test("a connection that has worked for long without waiting lets others have a turn", async () => {
  const settled = new Streak();
  const later = performance.now() + HALF_A_SECOND;
  settled.turn(100, later - 1, later);
  strictEqual(settled.turnAt(later + 1), undefined);
  // One step took that long, so nobody has asked in between.
  const turn = settled.turnAt(later + 8);
  assert.ok(turn !== undefined);
  await turn;
});

Deno.test("a connection that is there for a while goes ahead of a full line", async () => {
  const settled = new Streak();
  const later = performance.now() + HALF_A_SECOND;
  settled.turn(100, later - 1, later);
  const waiting: Promise<void>[] = [];
  while (waiting.length === 0) {
    busy(0.05);
    const turn = lineTurn();
    if (turn !== undefined) waiting.push(turn);
  }
  strictEqual(settled.turn(100, later + 1, later + 2), undefined);
  assert.ok(new Streak().turn(100, performance.now(), performance.now()) !== undefined);
  await Promise.all(waiting);
});

Deno.test("a connection whose peer never lets it wait stands in line after a while", async () => {
  const streak = new Streak();
  goAhead();
  const start = performance.now() + HALF_A_SECOND;
  streak.turn(100, start - 1, start);
  let at = start;
  let turn: Promise<void> | undefined;
  while (turn === undefined && at < start + 100) {
    busy(0.05);
    turn = streak.turn(100, at, at += 0.01);
  }
  assert.ok(turn !== undefined, "it never waits");
  assert.ok(at - start > 1, `it waits after ${at - start} ms`);
  await turn;
});

Deno.test("demote() treats a connection as new again", async () => {
  const streak = new Streak();
  const later = performance.now() + HALF_A_SECOND;
  strictEqual(streak.turn(100, later - 1, later), undefined);
  streak.demote(later);
  let turn: Promise<void> | undefined;
  for (let at = later + 1; turn === undefined && at < later + 50; at += 0.1) {
    turn = streak.turn(100, at - 1, at);
  }
  assert.ok(turn !== undefined, "it goes ahead");
  await turn;
});
