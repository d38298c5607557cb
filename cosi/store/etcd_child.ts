// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A local etcd as a child of this process: started, watched and ended with it.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { createEtcdClient } from "./etcd_client.ts";

/** Options of {@linkcode startEtcd}. */
export interface EtcdChildOptions {
  /** The program; looked for in the path when it has no slash. */
  readonly binary?: string;
  /** Where it keeps its data; made when it is not there. */
  readonly dataDirectory: string;
  /** Time until it must answer, in milliseconds. */
  readonly timeoutMs?: number;
}

/** A running etcd. */
export interface EtcdChild {
  readonly endpoint: string;
  readonly pid: number;
  /** Settles with what it printed last when it ends. */
  readonly ended: Promise<string>;
  /** Ends it and waits until it is gone. */
  close(): Promise<void>;
}

// The shell ends etcd when its own standard input ends, which it does with this process, however that
// ends: an etcd left behind would hold the lock of its data. "$$" is the shell, so that a signal to
// the child's pid reaches the shell and with it etcd.
const SHELL = `
exec 3<&0
"$@" 3<&- &
child=$!
(cat <&3 >/dev/null; kill -TERM $child) 2>/dev/null &
wait $child
`;

/** etcd keeps every change until it is told not to; nobody reads its history here. */
const COMPACTION = ["--auto-compaction-mode=revision", "--auto-compaction-retention=1000"];

const START_TIMEOUT_MS = 20_000;
const POLL_MS = 50;
const TAIL = 4096;

/** A port of the loopback interface that nobody listens on at this moment. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** Starts etcd and waits until it answers. Throws a `CodedError` with what it printed otherwise. */
export async function startEtcd(options: EtcdChildOptions): Promise<EtcdChild> {
  const { binary = "etcd", dataDirectory, timeoutMs = START_TIMEOUT_MS } = options;
  const endpoint = `http://127.0.0.1:${freePort()}`;
  const peer = `http://127.0.0.1:${freePort()}`;
  const args = [
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${endpoint}`,
    `--advertise-client-urls=${endpoint}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    ...COMPACTION,
  ];
  const child = new Deno.Command("sh", {
    args: ["-c", SHELL, "etcd", binary, ...args],
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const printed = tailOf(child.stderr);
  const ended = (async () => {
    await child.status;
    await child.stdin.close().catch(() => {});
    return await printed;
  })();
  const close = async (): Promise<void> => {
    await child.stdin.close().catch(() => {});
    await ended;
  };
  try {
    await untilReady(endpoint, ended, timeoutMs);
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint, pid: child.pid, ended, close };
}

async function tailOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    text = (text + part).slice(-TAIL);
  }
  return text.trim();
}

async function untilReady(
  endpoint: string,
  ended: Promise<string>,
  timeoutMs: number,
): Promise<void> {
  const client = createEtcdClient({ endpoints: [endpoint] });
  let output: string | undefined;
  ended.then((text) => output = text);
  const end = performance.now() + timeoutMs;
  try {
    for (;;) {
      try {
        await client.range({ key: Uint8Array.of(0) });
        return;
      } catch (cause) {
        if (output !== undefined) {
          throw new CodedError("unavailable", `Cannot start etcd: it ended with: ${output}`);
        }
        if (performance.now() > end) {
          throw new CodedError("unavailable", `Cannot start etcd: no answer in ${timeoutMs} ms`, {
            cause,
          });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    client.close();
  }
}
