// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Talos's own configuration library as a program to ask.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** A question; see `main.go`. */
export interface Question {
  readonly config: string;
  readonly bundleFile?: string;
  readonly clusterName?: string;
  readonly endpoint?: string;
  readonly kubernetesVersion?: string;
  readonly contract?: string;
  readonly machineType?: string;
  readonly options?: object;
  readonly patches?: readonly string[];
}

/** An answer; errors are absent when there are none. */
export interface Answer {
  readonly generated?: string;
  readonly generateError?: string;
  readonly loadError?: string;
  readonly validationError?: string;
}

const FOLDER = fileURLToPath(new URL(".", import.meta.url));

/** Longest time to build the program, modules included. */
const BUILD_DEADLINE_MS = 300_000;

/** Builds the program, or tells in a few words why it cannot be built. */
export async function buildMachinery(): Promise<
  { readonly program: string; readonly reason?: never } | {
    readonly program?: never;
    readonly reason: string;
  }
> {
  const program = `${FOLDER}.build/machinery`;
  try {
    const { success, stderr } = await new Deno.Command("go", {
      args: ["build", "-o", program, "."],
      cwd: FOLDER,
      stdout: "null",
      stderr: "piped",
      signal: AbortSignal.timeout(BUILD_DEADLINE_MS),
    }).output();
    if (success) return { program };
    const [line = "no reason given"] = new TextDecoder().decode(stderr).trim().split("\n").slice(
      -1,
    );
    return { reason: `the Go program cannot be built: ${line.slice(0, 120)}` };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return { reason: "Go is not installed" };
    return { reason: "the Go program cannot be built" };
  }
}

/** Asks all questions in one run of the program. */
export async function askMachinery(
  program: string,
  questions: readonly Question[],
): Promise<Answer[]> {
  const child = new Deno.Command(program, { stdin: "piped", stdout: "piped" }).spawn();
  const input = questions.map((question) => JSON.stringify(question) + "\n").join("");
  const writing = writeAll(child.stdin, input);
  const [{ success, stdout }] = await Promise.all([child.output(), writing]);
  if (!success) throw new Error("Talos's library failed");
  return new TextDecoder().decode(stdout).trim().split("\n").map((line) => JSON.parse(line));
}

async function writeAll(stream: WritableStream<Uint8Array>, text: string): Promise<void> {
  const writer = stream.getWriter();
  await writer.write(new TextEncoder().encode(text));
  await writer.close();
}
