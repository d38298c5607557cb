// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The attacks of `rpc_attack_test.ts`, as a program of its own: `rpc_attacks.ts NAME PORT` runs one.
 *
 * @module
 */

import assert from "node:assert/strict";
import { Flag, Frame, Http2Code, PREFACE, Setting } from "../../rpc/frames.ts";
import {
  block,
  frame,
  message,
  RawPeer,
  request,
  requestBlock,
  settings,
  word,
} from "../../rpc/test_peer.ts";

const ECHO = "/test.Attack/Echo";
const TAKE = "/test.Attack/Take";
const LARGE = "/test.Attack/Large";

// Connections that come and go at the same time.
const LANES = 8;

// Of three sessions each: 20,000 together. What ends `node:http2` ends it within that.
const BUSY_ROUNDS = 6667;

// Short attacks are made again until this time has passed, so that their figures are not those of code
// that runs for the first time.
const AT_LEAST_MS = 2000;

/** Sends pieces until all are sent or the server closes. */
async function sendAll(peer: RawPeer, pieces: Iterable<Uint8Array>): Promise<boolean> {
  try {
    for (const piece of pieces) await peer.send(piece);
    return true;
  } catch {
    return false;
  }
}

/** Joins what `make` gives for `from…to` into one piece. */
function batch(from: number, to: number, make: (at: number) => Uint8Array[]): Uint8Array {
  const pieces: Uint8Array[] = [];
  for (let at = from; at < to; at++) pieces.push(...make(at));
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Connections whose two replies wait for a window, and are known to. */
async function zeroWindowReaders(port: number): Promise<RawPeer[]> {
  const peers: RawPeer[] = [];
  for (let at = 0; at < 1000; at++) {
    const peer = await RawPeer.dial(port, settings([Setting.InitialWindowSize, 0]));
    peers.push(peer);
    await peer.send(
      request(1, LARGE),
      message(1, new Uint8Array(0), true),
      request(3, LARGE),
      message(3, new Uint8Array(0), true),
    );
  }
  for (const peer of peers) assert.ok(await peer.find(Frame.Headers, 3) !== undefined);
  return peers;
}

/** Repeats `make` over new connections until so many rounds are sent, whatever the server closes. */
async function overConnections(
  port: number,
  rounds: number,
  perBatch: number,
  make: (at: number) => Uint8Array[],
): Promise<void> {
  for (let sent = 0; sent < rounds;) {
    const peer = await RawPeer.dial(port);
    const draining = (async () => {
      while (await peer.next() !== undefined);
    })();
    for (let at = 0; sent < rounds; at += perBatch) {
      sent += perBatch;
      if (!await sendAll(peer, [batch(at, at + perBatch, make)])) break;
    }
    peer.close();
    await draining;
  }
}

type Attack = (port: number) => Promise<void>;

/** The attacks by their names. */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  "a rapid reset of 100,000 streams": (port) =>
    overConnections(port, 100_000, 200, (at) => [
      request(at * 2 + 1, ECHO, false),
      message(at * 2 + 1, new Uint8Array(10), true),
      frame(Frame.RstStream, 0, at * 2 + 1, word(Http2Code.Cancel)),
    ]),

  "CONTINUATION floods": (port) =>
    overConnections(port, 50_000, 200, (at) => [
      at === 0
        ? frame(Frame.Headers, 0, 1, requestBlock(ECHO))
        : frame(Frame.Continuation, 0, 1, block("x", "y")),
    ]),

  "floods of SETTINGS, PING, PRIORITY, empty and unknown frames": async (port) => {
    const ping = frame(Frame.Ping, 0, 0, new Uint8Array(8));
    const floods: ((at: number) => Uint8Array[])[] = [
      () => [settings([Setting.InitialWindowSize, 65_535])],
      () => [ping],
      (at) => [frame(Frame.Priority, 0, at * 2 + 1, new Uint8Array(5))],
      (at) => [at === 0 ? request(1, TAKE) : frame(Frame.Data, 0, 1)],
      () => [frame(0xcc, 0, 0, new Uint8Array(100))],
      () => [frame(Frame.WindowUpdate, 0, 0, word(1))],
    ];
    for (const make of floods) await overConnections(port, 20_000, 500, make);
  },

  "header bombs": async (port) => {
    // One large entry, then references to it: 4,000 × 4 KB from a few bytes.
    const entry = Uint8Array.of(
      0x40,
      1,
      0x78,
      0x7f,
      0xa0,
      0x1e,
      ...new Uint8Array(3999).fill(0x61),
    );
    const bomb = new Uint8Array(16_000).fill(0xbe);
    const first = frame(
      Frame.Headers,
      Flag.EndHeaders,
      1,
      new Uint8Array([...requestBlock(ECHO), ...entry]),
    );
    await overConnections(port, 400, 20, (at) => [
      at === 0 ? first : frame(
        Frame.Headers,
        Flag.EndHeaders | Flag.EndStream,
        at * 2 + 1,
        new Uint8Array([...requestBlock(ECHO), ...bomb]),
      ),
    ]);
  },

  "1,000 readers with a window of zero": async (port) => {
    const peers = await zeroWindowReaders(port);
    // They hold on to what waits for them.
    const over = AbortSignal.timeout(AT_LEAST_MS);
    await new Promise((resolve) => over.addEventListener("abort", resolve));
    for (const peer of peers) peer.close();
  },

  "1,000 readers with a window of zero that leave and come again": async (port) => {
    for (const peer of await zeroWindowReaders(port)) peer.close();
  },

  "100 readers with a window of one byte": async (port) => {
    const readOne = async (): Promise<void> => {
      const peer = await RawPeer.dial(port, settings([Setting.InitialWindowSize, 1]));
      await peer.send(request(1, LARGE), message(1, new Uint8Array(0), true));
      for (let at = 0; at < 100; at++) {
        if (await peer.find(Frame.Data, 1) === undefined) break;
        await peer.send(frame(Frame.WindowUpdate, 0, 1, word(1)));
      }
      peer.close();
    };
    await Promise.all(Array.from({ length: 100 }, readOne));
  },

  "1,000 connections that send their preface slowly or not at all": async (port) => {
    const open = async (at: number): Promise<void> => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      try {
        await connection.write(PREFACE.subarray(0, at % PREFACE.length));
        // The server is the one that ends it.
        while (await connection.read(new Uint8Array(64)) !== null);
      } catch {
        // Reset instead of closed: ended all the same.
      }
      connection.close();
    };
    await Promise.all(Array.from({ length: 1000 }, (_, at) => open(at)));
  },

  "20,000 sessions that come and go in every way": async (port) => {
    const lane = async (lane: number): Promise<void> => {
      for (let at = lane; at < 20_000; at += LANES) {
        const peer = await RawPeer.dial(port);
        await peer.send(request(1, ECHO), message(1, new Uint8Array(8), true));
        if (at % 4 === 0) await peer.find(Frame.Data, 1);
        if (at % 4 === 1) await peer.send(frame(Frame.Goaway, 0, 0, new Uint8Array(8)));
        if (at % 4 === 2) await peer.send(frame(Frame.Settings, 0, 3));
        peer.close();
      }
    };
    await Promise.all(Array.from({ length: LANES }, (_, at) => lane(at)));
  },

  "20,000 busy sessions that end by closing, GOAWAY or in the middle of a call": async (port) => {
    const session = async (at: number): Promise<void> => {
      const peer = await RawPeer.dial(port);
      const calls = 30 + (at * 7) % 171;
      const draining = (async () => {
        while (await peer.next() !== undefined);
      })();
      for (let call = 0; call < calls; call += 10) {
        await peer.send(batch(call, call + 10, (each) => [
          request(each * 2 + 1, ECHO),
          message(each * 2 + 1, new Uint8Array(100), true),
        ]));
      }
      if (at % 3 === 0) await peer.send(frame(Frame.Goaway, 0, 0, new Uint8Array(8)));
      if (at % 3 === 1) await peer.send(request(100_001, TAKE));
      peer.close();
      await draining;
    };
    for (let round = 0; round < BUSY_ROUNDS; round++) {
      await Promise.all([0, 1, 2].map((lane) => session(round * 3 + lane)));
    }
  },

  "a million seeded frames of garbage": async (port) => {
    const seed = Number(Deno.env.get("BATUTA_SEED") ?? Date.now() % 1_000_000);
    console.log(`BATUTA_SEED=${seed} replays it`);
    let state = seed;
    const next = (below: number): number => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    const garbage = (at: number): Uint8Array[] => {
      const kind = next(10);
      const id = next(4) === 0 ? next(50) : at * 2 + 1;
      if (kind < 2) return [request(at * 2 + 1, ECHO, next(2) === 0)];
      const payload = new Uint8Array(next(4) === 0 ? next(40) : [4, 5, 6, 8][next(4)] ?? 4);
      for (let index = 0; index < payload.length; index++) payload[index] = next(256);
      return [frame(next(11), next(256), id, payload)];
    };
    let frames = 0;
    while (frames < 1_000_000) {
      const peers = await Promise.all(Array.from({ length: 8 }, () => RawPeer.dial(port)));
      await Promise.all(peers.map(async (peer) => {
        const draining = (async () => {
          while (await peer.next() !== undefined);
        })();
        const first = next(1000);
        const size = 100 + next(900);
        frames += size;
        await sendAll(peer, [batch(first, first + size, garbage)]);
        peer.close();
        await draining;
      }));
    }
  },
};

if (import.meta.main) {
  const [name = "", port] = Deno.args;
  const attack = ATTACKS[name];
  if (attack === undefined) throw new Error(`There is no attack "${name}"`);
  const endMs = performance.now() + AT_LEAST_MS;
  do await attack(Number(port)); while (performance.now() < endMs);
}
