// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The good client of `rpc_attack_test.ts`, in a process of its own: `rpc_attack_client.ts PORT`.
 *
 * Each line on standard input begins calls, 1,000 of them, or for the line `until` those until the
 * next line; then it answers with a line of JSON, the {@linkcode Answer}.
 *
 * @module
 */

import { createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { TextLineStream } from "../compat/line_stream.ts";

/** What the good client saw. */
export interface Answer {
  readonly calls: number;
  /** The 99th percentile of how long a call took, in ms. */
  readonly p99Ms: number;
}

const COUNT = 1000;

async function callWhile(port: number, goesOn: (calls: number) => boolean): Promise<Answer> {
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "good",
  });
  const times: number[] = [];
  const payload = new Uint8Array(500);
  try {
    while (goesOn(times.length)) {
      const start = performance.now();
      const reply = await channel.rawCall("/test.Attack/Echo", payload, { timeoutMs: 10_000 });
      if (reply.length !== payload.length) throw new Error("The reply is not that of the request");
      times.push(performance.now() - start);
    }
  } finally {
    channel.close();
  }
  return { calls: times.length, p99Ms: p99(times) };
}

function p99(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? NaN;
}

if (import.meta.main) {
  const port = Number(Deno.args[0]);
  const lines = Deno.stdin.readable.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream())[Symbol.asyncIterator]();
  for (;;) {
    const { value: line, done } = await lines.next();
    if (done) break;
    let answer: Promise<Answer>;
    if (line === "until") {
      let told = false;
      answer = callWhile(port, () => !told);
      await Promise.race([lines.next(), answer]);
      told = true;
    } else answer = callWhile(port, (calls) => calls < COUNT);
    console.log(JSON.stringify(await answer));
  }
}
