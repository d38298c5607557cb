// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs the lab: server, machines, cluster, and what is shown of them.
 *
 * @module
 */

import example from "../docs/examples/cluster.yaml" with { type: "text" };
import { fromBinary } from "@bufbuild/protobuf";
import { CodedError, codeOf } from "../base/errors.ts";
import { createLogger, type Logger } from "../base/log.ts";
import { createRemoteState } from "../cosi/state/grpc_client.ts";
import type { State } from "../cosi/state/state.ts";
import { ConnectionParam } from "../resources/link/connection_param.ts";
import { applyDraft } from "./ctl_apply.ts";
import { openChannel } from "./ctl_connect.ts";
import { readDocuments } from "./ctl_document.ts";
import { DEFAULT_API_BIND, type LabPlace, prepareLab } from "./lab_config.ts";
import { keepMemory, readMemory } from "./lab_memory.ts";
import { createScreen, type Screen, standardOutput } from "./lab_screen.ts";
import {
  describeLag,
  describeNextSteps,
  haveJoined,
  isRunning,
  type LabStatus,
} from "./lab_status.ts";
import { watchLab } from "./lab_watch.ts";

/** The cluster of the example. */
const CLUSTER = "lab";

/** A stop that takes longer than this is cut short, in ms. */
const STOP_WITHIN_MS = 5_000;

/** Options of the lab as they were given. */
export interface LabOptions {
  readonly machines: number;
  /** False for `--no-cluster`. */
  readonly cluster: boolean;
  /** `host:port`; only loopback when absent. */
  readonly apiBind?: string;
  /** `memory`, `sqlite`, or a directory that keeps the state. */
  readonly state: string;
  readonly once?: true;
  /** In seconds. */
  readonly timeout: number;
  readonly logLevel: "debug" | "info" | "warn" | "error";
}

/** What a running lab is looked at with. */
interface Lab {
  readonly state: State;
  readonly endpoint: string;
  /** Rejects when the server fails. */
  readonly failed: Promise<never>;
}

/** Runs a lab and returns the exit code. */
export async function runLab(options: LabOptions): Promise<number> {
  const screen = createScreen(standardOutput());
  const log = createLogger({ level: options.logLevel, write: logWriter(screen) });
  const stop = stopSignal();
  const place = await prepareLab(options);
  await using cleanup = new AsyncDisposableStack();
  const forget = (): void => {
    if (place.isThrowAway) removeDirectory(place.directory);
  };
  cleanup.defer(forget);
  const lab = await startLab(options, place, log, cleanup);
  screen.print(`server of the lab: ${lab.endpoint}, ${options.machines} emulated machines`);
  const outcome = await Promise.race([lab.failed, show(lab, options, screen, stop)]);
  // What is still being drained after this is not worth waiting for.
  const timer = setTimeout(() => {
    forget();
    Deno.exit(outcome);
  }, STOP_WITHIN_MS);
  await cleanup.disposeAsync();
  clearTimeout(timer);
  return outcome;
}

/** Somebody who cleans up temporary files may have been faster. */
function removeDirectory(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function startLab(
  options: LabOptions,
  place: LabPlace,
  log: Logger,
  cleanup: AsyncDisposableStack,
): Promise<Lab> {
  const [{ parseConfig }, { startServer }, { startFleetThread }] = await Promise.all([
    import("../server/config/parse_config.ts"),
    import("../server/serve.ts"),
    import("../lab/fleet_thread.ts"),
  ]);
  const config = parseConfig(place.document);
  const server = await startServer(config, { log }).catch((cause) => {
    throw new CodedError(
      codeOf(cause) ?? "internal",
      "Cannot start the server of the lab; where something else has its address, name another " +
        "one with --api-bind",
      { cause },
    );
  });
  cleanup.defer(() => server.close());
  const { host } = config.api.bindAddress;
  const endpoint = `http://${host.includes(":") ? `[${host}]` : host}:${server.apiPort}`;
  const channel = openChannel({ endpoint });
  cleanup.defer(() => channel.close());
  const state = createRemoteState(channel);
  const memory = place.isThrowAway ? undefined : await readMemory(place.directory);
  const fleet = await startFleetThread({
    count: options.machines,
    kernelArgs: await kernelArgs(state),
    bindAddress: "127.0.0.1",
    ...(memory === undefined ? {} : { memory }),
  }, { log });
  cleanup.defer(() => fleet.close());
  if (!place.isThrowAway) {
    const kept = keepMemory(place.directory, fleet);
    cleanup.defer(() => kept.stop());
  }
  if (options.cluster) {
    for (const draft of readDocuments(example, "docs/examples/cluster.yaml")) {
      await applyDraft(state, draft, { dryRun: false });
    }
  }
  return { state, endpoint, failed: server.failed };
}

/** What the server tells machines to boot with. */
async function kernelArgs(state: State): Promise<string> {
  const { namespace, type, schema } = ConnectionParam;
  const [params] = await state.list({ namespace, type });
  if (params === undefined) {
    throw new CodedError("notFound", "Cannot start machines: the server has no ConnectionParams");
  }
  return fromBinary(schema, params.protoSpec).args;
}

/** Shows the lab until it is to end, and returns the exit code. */
async function show(
  { state, endpoint }: Lab,
  options: LabOptions,
  screen: Screen,
  stop: AbortSignal,
): Promise<number> {
  const watching = new AbortController();
  const ended = Promise.withResolvers<number>();
  let latest: LabStatus = { machines: [], clusters: [] };
  let isThere = false;
  const interrupted = (): void => ended.resolve(options.once ? 1 : 0);
  // It may have come while the server was starting.
  if (stop.aborted) interrupted();
  stop.addEventListener("abort", interrupted, { once: true });
  const timer = options.once === undefined ? undefined : setTimeout(() => {
    const missed = options.cluster
      ? `cluster "${CLUSTER}" does not run`
      : "machines have not joined";
    console.error(`batuta: ${missed} after ${options.timeout} s`);
    for (const line of describeLag(latest, options.machines)) console.error(`  ${line}`);
    ended.resolve(1);
  }, options.timeout * 1000);
  const watch = watchLab(state, (status) => {
    latest = status;
    screen.show(status);
    const isDone = options.cluster
      ? isRunning(status, CLUSTER)
      : haveJoined(status, options.machines);
    if (!isDone || isThere) return;
    isThere = true;
    screen.print(whatNext(options, endpoint).join("\n"));
    if (options.once) ended.resolve(0);
  }, watching.signal);
  watch.catch((error) => {
    if (!watching.signal.aborted) ended.reject(error);
  });
  try {
    return await ended.promise;
  } finally {
    clearTimeout(timer);
    watching.abort();
  }
}

function whatNext(options: LabOptions, endpoint: string): string[] {
  const { cluster, machines, once, state } = options;
  const done = cluster ? `cluster "${CLUSTER}" is running` : `${machines} machines have joined`;
  if (once) return [done];
  const isPacked = Deno.build.standalone || Deno.mainModule.startsWith("file:///proc/self/fd/");
  return describeNextSteps({
    done,
    ...(cluster ? { cluster: CLUSTER } : {}),
    machines,
    ctl: isPacked ? "batuta ctl" : "npx --yes deno@2.9.3 task ctl",
    hasExamples: !isPacked,
    // Where the client looks anyway need not be typed.
    endpoint: endpoint === `http://${DEFAULT_API_BIND}` ? "" : endpoint,
    isThrowAway: state === "memory" || state === "sqlite",
  });
}

/** Log lines go where they do not tear the table. */
function logWriter(screen: Screen): (line: string) => void {
  if (!Deno.stdout.isTerminal() || !Deno.stderr.isTerminal()) {
    const encoder = new TextEncoder();
    return (line) => void Deno.stderr.writeSync(encoder.encode(line));
  }
  return (line) => screen.print(line.trimEnd());
}

function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ["SIGTERM", "SIGINT"] as const) {
    Deno.addSignalListener(name, () => stop.abort());
  }
  return stop.signal;
}
