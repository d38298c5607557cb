// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A local etcd as a child of this process: started, read and ended with it.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { createEtcdClient } from "./etcd_client.ts";

/** Options of {@linkcode startEtcd}. */
export interface EtcdChildOptions {
  /** The program, of version 3.4 or newer; looked for in the path when it has no slash. */
  readonly binary?: string | undefined;
  /** Where it keeps its data; made where it is not there, its parent is not. */
  readonly dataDirectory: string;
  /** The port of the loopback interface that it serves on; a free one when absent. */
  readonly port?: number | undefined;
  /** Time until it must answer, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** Receives every line that it prints, shortened to {@linkcode LINE_LIMIT}. */
  readonly onLine?: ((line: string) => void) | undefined;
  /** Gives up the start. */
  readonly signal?: AbortSignal | undefined;
}

/** A running etcd. */
export interface EtcdChild {
  readonly endpoint: string;
  readonly port: number;
  /** The process that etcd is a child of, and that ends with it. */
  readonly pid: number;
  /** Settles with what it printed last when it ends. */
  readonly ended: Promise<string>;
  /** Ends it and waits until it is gone. */
  close(): Promise<void>;
}

// The shell ends etcd when its own standard input ends, which it does with this process, however that
// ends: an etcd left behind would hold the lock of its data. One that does not end by itself, perhaps
// because it was frozen, is killed after four seconds, within the time that the server has to stop.
const SHELL = `
exec 3<&0
"$@" 3<&- &
child=$!
(cat <&3 >/dev/null; kill -TERM $child; sleep 4; kill -KILL $child) 2>/dev/null &
watcher=$!
wait $child
code=$?
kill $watcher
exit $code
`;

/** etcd keeps every change until it is told not to; nobody reads its history here. */
const COMPACTION = ["--auto-compaction-mode=revision", "--auto-compaction-retention=1000"];

/** A lone member waits for no other's vote: elected, and serving again, sooner than after a second. */
const ELECTION = ["--heartbeat-interval=50", "--election-timeout=250"];

/** One JSON object a line, and nothing in the journal of the system beside it. */
const LOGGING = ["--logger=zap", "--log-outputs=stderr"];

/** Characters that are kept of one line; the rest of it is dropped. */
export const LINE_LIMIT = 4096;

/** Lines that are told when it ends. */
const TAIL_LINES = 3;

const START_TIMEOUT_MS = 20_000;
const POLL_MS = 50;

/** A port of the loopback interface that nobody listens on at this moment. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/**
 * Starts etcd and waits until it answers.
 *
 * @throws CodedError `unavailable` with what it printed when it does not start, `failedPrecondition`
 *   when its directory cannot be had, `cancelled` when the signal aborts.
 */
export async function startEtcd(options: EtcdChildOptions): Promise<EtcdChild> {
  const { dataDirectory, port = freePort() } = options;
  await makeDirectory(dataDirectory);
  const endpoint = `http://127.0.0.1:${port}`;
  const child = spawn(options, endpoint);
  const tail: string[] = [];
  const reading = readLines(child.stderr, (line) => {
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    options.onLine?.(line);
  });
  const ended = (async () => {
    await child.status;
    await child.stdin.close().catch(() => {});
    await reading;
    return tail.join("\n");
  })();
  const close = async (): Promise<void> => {
    await child.stdin.close().catch(() => {});
    await ended;
  };
  try {
    await untilReady(endpoint, ended, tail, options);
  } catch (error) {
    await close();
    throw error;
  }
  return { endpoint, port, pid: child.pid, ended, close };
}

/** The state is in it, so nobody else may look into it. */
async function makeDirectory(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { mode: 0o700 }).catch((error) => {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    });
    await Deno.chmod(path, 0o700);
  } catch (cause) {
    throw new CodedError(
      "failedPrecondition",
      `Cannot start etcd: its directory "${path}" cannot be made or closed to others; check that ` +
        "its parent is there and that both belong to the server",
      { cause },
    );
  }
}

function spawn({ binary = "etcd", dataDirectory }: EtcdChildOptions, endpoint: string) {
  // A lone member talks to nobody, but etcd wants an address for it.
  const peer = `http://127.0.0.1:${freePort()}`;
  const args = [
    `--data-dir=${dataDirectory}`,
    `--listen-client-urls=${endpoint}`,
    `--advertise-client-urls=${endpoint}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    ...COMPACTION,
    ...ELECTION,
    ...LOGGING,
  ];
  const command = new Deno.Command("sh", {
    args: ["-c", SHELL, "etcd", binary, ...args],
    // The environment of the server holds the key of the state, and ETCD_… may mean another etcd.
    clearEnv: true,
    env: { PATH: Deno.env.get("PATH") ?? "/usr/local/bin:/usr/bin:/bin" },
    // What a terminal sends to the server would end etcd before the server has written its last.
    detached: true,
    stdin: "piped",
    stdout: "null",
    stderr: "piped",
  });
  try {
    return command.spawn();
  } catch (cause) {
    throw new CodedError("failedPrecondition", 'Cannot start etcd: "sh" cannot be started', {
      cause,
    });
  }
}

async function readLines(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const part of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + part).split("\n");
    rest = (lines.pop() ?? "").slice(0, LINE_LIMIT);
    for (const line of lines) if (line !== "") take(line.slice(0, LINE_LIMIT));
  }
  if (rest !== "") take(rest);
}

async function untilReady(
  endpoint: string,
  ended: Promise<string>,
  tail: readonly string[],
  { binary = "etcd", timeoutMs = START_TIMEOUT_MS, signal }: EtcdChildOptions,
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
        if (signal?.aborted) {
          throw new CodedError("cancelled", "Cannot start etcd: stopped meanwhile");
        }
        if (output !== undefined) {
          throw new CodedError(
            "unavailable",
            `Cannot start etcd: "${binary}" ended with: ${output}`,
          );
        }
        if (performance.now() > end) {
          throw new CodedError(
            "unavailable",
            `Cannot start etcd: "${binary}" gave no answer in ${timeoutMs} ms and printed last: ` +
              tail.join("\n"),
            { cause },
          );
        }
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  } finally {
    client.close();
  }
}
