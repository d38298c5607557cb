// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Programs of a benchmark in processes of their own, which answer a line of JSON with a line of
 * JSON.
 *
 * @module
 */

import { endChild } from "../child_process.ts";
import { TextLineStream } from "../compat/line_stream.ts";

const CONFIG = new URL("../../deno.json", import.meta.url).pathname;

/** A running program. */
export interface LineProcess {
  readonly pid: number;
  /** Sends a request; resolves with the answer, rejects when the program is gone. */
  ask(request: unknown): Promise<unknown>;
  /** Ends it: with its input, or at once. */
  stop(how?: "kill"): Promise<void>;
}

/** Starts a module of this folder. */
export function startProgram(module: string): LineProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--config", CONFIG, new URL(module, import.meta.url).pathname],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  const answers = lines(child.stdout).getReader();
  return {
    pid: child.pid,
    async ask(request) {
      await writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
      const { value, done } = await answers.read();
      if (done) throw new Error(`${module} is gone`);
      return JSON.parse(value);
    },
    async stop(how) {
      if (how === "kill") await endChild(child, "SIGKILL");
      await writer.close().catch(() => {});
      await answers.cancel();
      await child.status;
    },
  };
}

/** Answers requests until the input ends. */
export async function serveLines(answer: (request: unknown) => Promise<unknown>): Promise<void> {
  for await (const line of lines(Deno.stdin.readable)) {
    console.log(JSON.stringify(await answer(JSON.parse(line)) ?? null));
  }
}

function lines(stream: ReadableStream<Uint8Array<ArrayBuffer>>): ReadableStream<string> {
  return stream.pipeThrough(new TextDecoderStream()).pipeThrough(new TextLineStream());
}
