// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { CodedError, formatError } from "../base/errors.ts";
import { createChannel } from "./client.ts";
import { Flag, Frame } from "./frames.ts";
import { dialTcp, listenTcp } from "./tcp.ts";
import { block, frame, settings } from "./test_peer.ts";
import { writeAll } from "./write_all.ts";

const ROUNDS = 200;

/** A generator of whole numbers below a bound that repeats itself for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Frames as a server would send them, and ones that it would not. */
function garbage(next: (below: number) => number): Uint8Array {
  const id = [0, 1, 1, 1, 2, 3][next(6)] ?? 1;
  switch (next(8)) {
    case 0:
      return frame(
        Frame.Headers,
        Flag.EndHeaders | next(2),
        id,
        block(
          ":status",
          ["200", "100", "503", "x"][next(4)] ?? "",
          "content-type",
          "application/grpc",
        ),
      );
    case 1:
      return frame(
        Frame.Headers,
        Flag.EndHeaders | next(2),
        id,
        block("grpc-status", `${next(20)}`),
      );
    case 2:
      return frame(Frame.Data, next(2), id, Uint8Array.of(next(3), 0, 0, 0, next(9), 1, 2, 3, 4));
    case 3:
      return settings([next(9), next(2 ** 31)]);
    default: {
      const payload = new Uint8Array([4, 5, 6, 8, next(60)][next(5)] ?? 4);
      for (let at = 0; at < payload.length; at++) payload[at] = next(256);
      return frame(next(11), next(256), id, payload);
    }
  }
}

Deno.test("createChannel() ends its calls whatever a server sends", async () => {
  const seed = Date.now() % 1_000_000;
  console.log(`seed ${seed}`);
  const next = random(seed);
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = (async () => {
    for await (const { stream } of listener) {
      try {
        if (next(8) > 0) {
          // The first read brings the client's preface, the second one its call.
          await stream.read(new Uint8Array(4096));
          await writeAll(stream, settings());
          await stream.read(new Uint8Array(4096));
        }
        for (let count = next(12); count > 0; count--) await writeAll(stream, garbage(next));
        if (next(2) === 0) await stream.read(new Uint8Array(1024));
      } catch {
        // The client has had enough of it.
      }
      stream.close();
    }
  })();
  const endings = new Map<string, number>();
  for (let round = 0; round < ROUNDS; round++) {
    const channel = createChannel({
      dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: listener.port, signal }),
      authority: "garbage",
    });
    let ending = "ok";
    try {
      await channel.rawCall("/test.Echo/Echo", new Uint8Array(10), { timeoutMs: 200 });
    } catch (error) {
      assert.ok(error instanceof CodedError, `seed ${seed}, round ${round}: ${formatError(error)}`);
      ending = error.code;
    }
    endings.set(ending, (endings.get(ending) ?? 0) + 1);
    channel.close();
  }
  listener.close();
  await serving;
  console.log([...endings].map(([ending, count]) => `${ending} ${count}`).join(", "));
  assert.ok(endings.size > 1);
});
