// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The good client of `rpc_attack_test.ts`, in a worker so that an attacker's work does not delay it.
 *
 * It takes `{ port, untilTold }` and posts the times of its calls: of 1,000 of them, or of those
 * until the next message.
 *
 * @module
 */

import { createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";

/** What the worker is told. */
export interface Told {
  readonly port: number;
  /** Whether to go on until the next message. */
  readonly untilTold: boolean;
}

/** What the worker answers. */
export interface Answer {
  /** Milliseconds of each call, in order of size. */
  readonly times: readonly number[];
  readonly error?: string;
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<Told>) => void) | null;
  postMessage(answer: Answer): void;
};

let told = 0;

async function callFor({ port, untilTold }: Told): Promise<readonly number[]> {
  const mine = told;
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "good",
  });
  const times: number[] = [];
  const payload = new Uint8Array(500);
  try {
    while (untilTold ? told === mine : times.length < 1000) {
      const start = performance.now();
      const reply = await channel.rawCall("/test.Attack/Echo", payload, { timeoutMs: 10_000 });
      if (reply.length !== payload.length) throw new Error("The reply is not the request");
      times.push(performance.now() - start);
    }
  } finally {
    channel.close();
  }
  return times.sort((a, b) => a - b);
}

scope.onmessage = ({ data }) => {
  told++;
  if (data.port === 0) return;
  callFor(data).then(
    (times) => scope.postMessage({ times }),
    (error) => scope.postMessage({ times: [], error: String(error) }),
  );
};
