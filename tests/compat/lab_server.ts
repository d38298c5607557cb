// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A lab in a process of its own, for the clients of other toolchains.
 *
 * @module
 */

import { endChild } from "../child_process.ts";
import { TextLineStream } from "./line_stream.ts";

const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const ROOT = new URL("../..", import.meta.url).pathname;

/** A running lab. */
export interface LabServer extends AsyncDisposable {
  /** `http://127.0.0.1:port` of the API. */
  readonly endpoint: string;
  /** Resolves when the lab prints a line with this text, at the latest after the deadline. */
  waitFor(text: string, deadlineMs: number): Promise<void>;
  /** What the server has written to its log. */
  log(): string;
}

/** Starts a lab on a port that is free. */
export async function startLab(args: readonly string[]): Promise<LabServer> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", MAIN, "lab", "--api-bind", "127.0.0.1:0", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const lines: string[] = [];
  const errors: string[] = [];
  const logging = (async () => {
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) errors.push(part);
  })();
  let wake = Promise.withResolvers<void>();
  const reading = (async () => {
    const text = child.stdout.pipeThrough(new TextDecoderStream());
    for await (const line of text.pipeThrough(new TextLineStream())) {
      lines.push(line);
      wake.resolve();
      wake = Promise.withResolvers();
    }
    wake.resolve();
  })();
  const find = async (text: string, deadlineMs: number): Promise<string> => {
    const deadline = AbortSignal.timeout(deadlineMs);
    deadline.addEventListener("abort", () => wake.resolve(), { once: true });
    while (!deadline.aborted) {
      const line = lines.find((candidate) => candidate.includes(text));
      if (line !== undefined) return line;
      await wake.promise;
    }
    throw new Error(`The lab did not say "${text}":\n${[...lines, ...errors].join("\n")}`);
  };
  const close = async (): Promise<void> => {
    await endChild(child);
    await Promise.all([reading, logging]);
  };
  try {
    const line = await find("server of the lab", 60_000);
    const endpoint = /http:\/\/[\d.]+:\d+/.exec(line)?.[0] ?? "";
    return {
      endpoint,
      waitFor: async (text, deadlineMs) => void await find(text, deadlineMs),
      log: () => errors.join(""),
      [Symbol.asyncDispose]: close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Whether a program can be run here. */
export function hasProgram(name: string, ...args: string[]): boolean {
  try {
    return new Deno.Command(name, { args, stdout: "null", stderr: "null" }).outputSync().success;
  } catch {
    return false;
  }
}

/** Builds a Go program from a folder beside this file. */
export async function buildGo(folder: string, out: string): Promise<void> {
  const { success, stderr } = await new Deno.Command("go", {
    args: ["build", "-o", out, "."],
    cwd: new URL(`${folder}/`, import.meta.url).pathname,
    env: { GOFLAGS: "-buildvcs=false" },
    stderr: "piped",
  }).output();
  if (!success) throw new Error(`Cannot build ${folder}: ${new TextDecoder().decode(stderr)}`);
}
