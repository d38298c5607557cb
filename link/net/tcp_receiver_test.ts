// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { assertSame, pattern, seededRandom } from "../testing.ts";
import { RingPool } from "./ring.ts";
import { TcpReceiver } from "./tcp_receiver.ts";
import { seqAdd } from "./tcp_segment.ts";

/** Close to where numbers begin again. */
const FIRST = 0xffff_f000;

Deno.test("TcpReceiver puts pieces together that come in any order, doubled and overlapping", () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seededRandom(seed);
    const pool = new RingPool();
    const receiver = new TcpReceiver(FIRST, 65_535, pool);
    const data = pattern(40_000);
    const got = new Uint8Array(data.length);
    let length = 0;
    while (length < data.length) {
      const from = Math.max(0, Math.floor(length - 3000 + random() * 20_000));
      const to = Math.min(data.length, from + 1 + Math.floor(random() * 1400));
      if (from >= to) continue;
      receiver.accept(seqAdd(FIRST, from), data.subarray(from, to), to === data.length);
      if (random() < 0.3) length += receiver.read(got.subarray(length));
      receiver.updateWindow();
      for (const { start, end } of receiver.sackBlocks()) assert.notEqual(start, end);
      if (receiver.isFinished) length += receiver.read(got.subarray(length));
    }
    assertSame(got, data);
    receiver.release();
    assert.equal(pool.usedBytes, 0, `seed ${seed}`);
  }
});

Deno.test("TcpReceiver never takes back what it offered and takes nothing beyond it", () => {
  const receiver = new TcpReceiver(0, 10_000, new RingPool());
  assert.equal(receiver.accept(0, pattern(8000), false), "inOrder");
  assert.equal(receiver.updateWindow(), 2000);
  assert.equal(receiver.accept(8000, pattern(5000), false), "inOrder");
  assert.equal(receiver.nextSeq, 10_000);
  assert.equal(receiver.updateWindow(), 0);
  assert.equal(receiver.accept(10_000, pattern(1), false), "refused");
  receiver.read(new Uint8Array(4000));
  assert.equal(receiver.updateWindow(), 4000);
});

Deno.test("TcpReceiver reports the latest gap first and a duplicate before all", () => {
  const receiver = new TcpReceiver(0, 65_535, new RingPool());
  receiver.accept(1000, pattern(100), false);
  receiver.accept(3000, pattern(100), false);
  receiver.accept(1100, pattern(100), false);
  assert.deepEqual(receiver.sackBlocks(), [
    { start: 1000, end: 1200 },
    { start: 3000, end: 3100 },
  ]);
  assert.equal(receiver.accept(3000, pattern(50), false), "duplicate");
  assert.deepEqual(receiver.sackBlocks()[0], { start: 3000, end: 3050 });
  assert.equal(receiver.accept(0, pattern(1000), false), "inOrder");
  assert.equal(receiver.nextSeq, 1200);
});

Deno.test("TcpReceiver reports an end that lies beyond a gap, with data and without", () => {
  for (const size of [0, 50]) {
    const receiver = new TcpReceiver(FIRST, 65_535, new RingPool());
    const end = seqAdd(FIRST, 5000 + size);
    receiver.accept(seqAdd(FIRST, 4000), pattern(1000), false);
    assert.equal(receiver.accept(seqAdd(FIRST, 5000), pattern(size), true), "outOfOrder");
    const reported = { start: seqAdd(FIRST, 4000), end: seqAdd(end, 1) };
    assert.deepEqual(receiver.sackBlocks(), [reported]);
    assert.equal(receiver.accept(seqAdd(FIRST, 5000), pattern(size), true), "duplicate");
    assert.deepEqual(receiver.sackBlocks()[0], { start: seqAdd(FIRST, 5000), end: reported.end });
    assert.equal(receiver.accept(FIRST, pattern(4000), false), "inOrder");
    assert.ok(receiver.isFinished && !receiver.hasGap);
    assert.equal(receiver.available, 5000 + size);
    assert.equal(receiver.nextSeq, reported.end);
  }
});

Deno.test("TcpReceiver bounds the gaps that it remembers", () => {
  const receiver = new TcpReceiver(0, 65_535, new RingPool());
  let kept = 0;
  for (let i = 1; i < 1000; i++) {
    if (receiver.accept(i * 20, pattern(1), false) === "outOfOrder") kept++;
  }
  assert.equal(kept, 64);
});

Deno.test("TcpReceiver ends only when everything before the end has come", () => {
  const receiver = new TcpReceiver(0, 65_535, new RingPool());
  receiver.accept(100, pattern(0), true);
  assert.equal(receiver.isFinished, false);
  receiver.accept(0, pattern(100), false);
  assert.equal(receiver.isFinished, true);
  assert.equal(receiver.nextSeq, 101);
});
