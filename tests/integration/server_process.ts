// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server in a process of its own, for tests that use it as the world does and that kill it.
 *
 * @module
 */

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { systemClock } from "../../base/clock.ts";
import type { Resource, ResourceType } from "../../cosi/resource.ts";
import { createRemoteState } from "../../cosi/state/grpc_client.ts";
import type { State } from "../../cosi/state/state.ts";
import { type Channel, createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { endChild } from "../child_process.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

/** The join token of servers under test. */
export const JOIN_TOKEN = "integration-token";

/** The Talos that clusters under test run; emulated machines boot the same. */
export const TALOS_VERSION = "1.12.11";

/** A server under test with a state directory of its own. */
export interface ServerProcess extends AsyncDisposable {
  readonly apiPort: number;
  readonly provisionPort: number;
  /** The process of the present run. */
  readonly pid: number;
  /** The key of its state, in base64. */
  readonly stateKey: string;
  /** What machines boot with. */
  readonly kernelArgs: string;
  readonly state: State;
  /** Lines that the server logged, of all its runs. */
  readonly logLines: readonly string[];
  /** Settles with the exit code of the present run when it has ended. */
  readonly ended: Promise<number>;
  /** Sends a signal and waits for the end; returns the exit code. */
  end(signal: Deno.Signal): Promise<number>;
  /** Starts it again on the same state and ports. */
  start(): Promise<void>;
}

/** Options of {@linkcode startServerProcess}. */
export interface ServerProcessOptions {
  /** The store of the state as it stands in the configuration, within a directory. */
  readonly store?: (directory: string) => string;
  /** More variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
}

function sqliteStore(directory: string): string {
  return `sqlite: {path: ${directory}/state.sqlite}`;
}

/** Starts a server and waits until it is ready; fails when it ends before that. */
export async function startServerProcess(
  { store = sqliteStore, env = {} }: ServerProcessOptions = {},
): Promise<ServerProcess> {
  const directory = await Deno.makeTempDir();
  const [apiPort, provisionPort] = [freeTcpPort(), freeTcpPort()];
  const config = `${directory}/batuta.yaml`;
  await Deno.writeTextFile(
    config,
    configuration(directory, store(directory), apiPort, provisionPort),
  );
  const key = crypto.getRandomValues(new Uint8Array(32)).toBase64();
  const environment = { ...env, BATUTA_STATE_KEY: key };
  const logLines: string[] = [];
  const start = (): Promise<Run> => startRun(config, environment, apiPort, logLines);
  let run = await start().catch(async (error) => {
    await Deno.remove(directory, { recursive: true });
    throw error;
  });
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: apiPort, signal }),
    authority: `127.0.0.1:${apiPort}`,
  });
  const ended = async (): Promise<number> => {
    const { code } = await run.child.status;
    await run.reading;
    return code;
  };
  const end = (signal: Deno.Signal): Promise<number> => {
    run.child.kill(signal);
    return ended();
  };
  return {
    apiPort,
    provisionPort,
    get pid() {
      return run.child.pid;
    },
    stateKey: key,
    kernelArgs: kernelArgs(provisionPort),
    state: createRemoteState(channel),
    logLines,
    get ended() {
      return ended();
    },
    end,
    start: async () => {
      run = await start();
    },
    [Symbol.asyncDispose]: () => dispose(channel, run, directory),
  };
}

async function dispose(
  channel: Channel,
  run: Run,
  directory: string,
): Promise<void> {
  channel.close();
  await endChild(run.child, "SIGKILL");
  await run.reading;
  await Deno.remove(directory, { recursive: true });
}

function configuration(
  directory: string,
  store: string,
  apiPort: number,
  provisionPort: number,
): string {
  const udpPort = freeUdpPort();
  return `
machineApiAdvertisedUrl: grpc://127.0.0.1:${provisionPort}
api: {bindAddress: "127.0.0.1:${apiPort}"}
siderolink:
  bindAddress: "127.0.0.1:${provisionPort}"
  allowLocalAdvertised: true
  initialJoinToken: ${JOIN_TOKEN}
wireguard: {mode: user, port: ${udpPort}, advertisedEndpoint: "127.0.0.1:${udpPort}"}
state: {${store}, key: {env: BATUTA_STATE_KEY}}
machineStore: {path: ${directory}/machines.sqlite}
talosVersions: [{version: "${TALOS_VERSION}", kubernetes: ["1.34.1"]}]
`;
}

/** What machines boot with that join a server on loopback. */
export function kernelArgs(provisionPort: number, query = ""): string {
  return [
    `siderolink.api=grpc://127.0.0.1:${provisionPort}?jointoken=${JOIN_TOKEN}${query}`,
    "talos.events.sink=[fdae:41e4:649b:9303::1]:8091",
    "talos.logging.kernel=tcp://[fdae:41e4:649b:9303::1]:8092",
  ].join(" ");
}

interface Run {
  readonly child: Deno.ChildProcess;
  readonly reading: Promise<void>;
}

async function startRun(
  config: string,
  env: Readonly<Record<string, string>>,
  apiPort: number,
  logLines: string[],
): Promise<Run> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "main.ts", "serve", "--config", config],
    cwd: ROOT,
    env: { ...env, DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const reading = readLines(child.stderr, logLines);
  let code: number | undefined;
  void child.status.then((status) => code = status.code);
  await within(30_000, "server is ready", async () => {
    if (code !== undefined) {
      await reading;
      throw new Error(`The server ended with code ${code}: ${logLines.at(-1)}`);
    }
    const reply = await fetch(`http://127.0.0.1:${apiPort}/readyz`).catch(() => undefined);
    await reply?.body?.cancel();
    return reply?.ok === true;
  });
  return { child, reading };
}

async function readLines(stream: ReadableStream<Uint8Array>, lines: string[]): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
  }
  if (rest !== "") lines.push(rest);
}

/** A port that nobody listens on at this moment. */
export function freeTcpPort(): number {
  return freePort((port) => Deno.listen({ hostname: "127.0.0.1", port }));
}

function freeUdpPort(): number {
  return freePort((port) => Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port }));
}

// Below those that the system gives to whoever asks for any, and above those of well-known services:
// none of the thousands that other tests dial from or listen on for a moment.
const FIRST_PORT = 10_000;
const LAST_PORT = 32_767;

function freePort(listen: (port: number) => { close(): void }): number {
  for (let attempt = 0; attempt < 100; attempt++) {
    const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
    const port = FIRST_PORT + random % (LAST_PORT - FIRST_PORT + 1);
    try {
      listen(port).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error("No port is free");
}

/** Between two looks at something that cannot be watched, in ms. */
const LOOK_EVERY_MS = 50;

/** Looks until a condition holds; fails after the deadline, naming what was waited for. */
export async function within(
  deadlineMs: number,
  what: string,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`Not within ${deadlineMs} ms: ${what}`);
    await systemClock.sleep(LOOK_EVERY_MS);
  }
}

/** Creates a resource as a user does. */
export async function createResource<T extends ResourceType>(
  state: State,
  type: T,
  id: string,
  spec: MessageInitShape<T["schema"]>,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const metadata = {
    namespace: type.namespace,
    type: type.type,
    id,
    version: 0,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels,
    annotations: {},
  } as const;
  const protoSpec = toBinary(type.schema, create(type.schema, spec));
  await state.create({ metadata, protoSpec, yamlSpec: "" });
}

/** All resources of a type. */
export async function listResources<T extends ResourceType>(
  state: State,
  type: T,
): Promise<readonly Resource<T>[]> {
  const found = await state.list({ namespace: type.namespace, type: type.type });
  return found.map((raw) => ({
    metadata: raw.metadata,
    spec: raw.decode<T["schema"]>(type.schema),
  }));
}
