// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import type { Libc } from "./libc.ts";
import { EAGAIN, EIO } from "./linux.ts";
import { createSendQueue } from "./udp_send_queue.ts";

const ENETUNREACH = 101;

const isLinux = Deno.build.os === "linux";
const note = isLinux ? "" : " (skipped: needs Linux)";

/**
 * A kernel that answers as it is told, because a loopback never runs out of room and always cuts: a
 * number of messages that it takes, or an error. It records how many it was given.
 */
function kernel(answers: readonly (number | { readonly errno: number })[]) {
  const given: number[] = [];
  let errno = 0;
  const symbols = {
    sendmmsg: (_fd: number, _headers: Uint8Array, count: number): number => {
      const answer = answers[given.length];
      given.push(count);
      if (typeof answer === "number") return answer;
      errno = answer?.errno ?? 0;
      return -1;
    },
    __errno_location: () => null,
    memcpy: (target: Int32Array) => {
      target[0] = errno;
      return null;
    },
  };
  return { libc: { symbols } as unknown as Libc, given };
}

const PEER = { hostname: "127.0.0.1", port: 9 };
const OTHER = { hostname: "::1", port: 9 };

Deno.test({
  name: `createSendQueue() keeps what the kernel has no room for, and sends it later${note}`,
  ignore: !isLinux,
  fn: () => {
    const { libc, given } = kernel([1, { errno: EAGAIN }, { errno: EAGAIN }, 3]);
    const queue = createSendQueue(libc, 1);
    for (const peer of [PEER, OTHER, PEER]) queue.add(new Uint8Array(100), peer);
    assert.equal(queue.flush(), false);
    assert.equal(queue.flush(), false);
    // One more of the same size joins the last message, one of another peer does not.
    queue.add(new Uint8Array(100), PEER);
    queue.add(new Uint8Array(100), OTHER);
    assert.equal(queue.flush(), true);
    assert.deepEqual(given, [3, 2, 2, 3]);
    assert.equal(queue.flush(), true);
    assert.equal(given.length, 4);
  },
});

Deno.test({
  name: `createSendQueue() drops what comes while everything is full${note}`,
  ignore: !isLinux,
  fn: () => {
    const full = Array.from({ length: 100 }, () => ({ errno: EAGAIN }));
    const { libc, given } = kernel(full);
    const queue = createSendQueue(libc, 1);
    for (let i = 0; i < 100; i++) queue.add(new Uint8Array(100), i % 2 === 0 ? PEER : OTHER);
    assert.equal(queue.flush(), false);
    assert.equal(given.at(-1), 64);
  },
});

Deno.test({
  name: `createSendQueue() sends one by one where the link cannot cut${note}`,
  ignore: !isLinux,
  fn: () => {
    const { libc, given } = kernel([{ errno: EIO }, 1, 1, 1, 3]);
    const queue = createSendQueue(libc, 1);
    for (let i = 0; i < 3; i++) queue.add(new Uint8Array(100), PEER);
    assert.equal(queue.flush(), true);
    assert.deepEqual(given, [1, 1, 1, 1]);
    for (let i = 0; i < 3; i++) queue.add(new Uint8Array(100), PEER);
    assert.equal(queue.flush(), true);
    assert.deepEqual(given, [1, 1, 1, 1, 3]);
  },
});

Deno.test({
  name: `createSendQueue() goes on behind a peer that cannot be reached${note}`,
  ignore: !isLinux,
  fn: () => {
    const { libc, given } = kernel([{ errno: ENETUNREACH }, 1]);
    const queue = createSendQueue(libc, 1);
    queue.add(new Uint8Array(100), PEER);
    queue.add(new Uint8Array(100), OTHER);
    queue.add(new Uint8Array(100), { hostname: "no.address.example", port: 9 });
    assert.equal(queue.flush(), true);
    assert.deepEqual(given, [2, 1]);
  },
});
