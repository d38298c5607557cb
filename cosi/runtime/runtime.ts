// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Runs controllers on a state.
 *
 * @module
 */

import { type Clock, systemClock } from "../../base/clock.ts";
import { type Logger, silentLogger } from "../../base/log.ts";
import type { Controller } from "../controller.ts";
import type { Kind, ResourceType } from "../resource.ts";
import type { State } from "../state/state.ts";
import { type BackoffBounds, ControllerRun, type RunShared } from "./controller_run.ts";
import { requireCompatible } from "./dependencies.ts";
import { Destroyer } from "./destroyer.ts";
import { type KindSubscriber, watchKind } from "./kind_watch.ts";
import { type EngineMetrics, noMetrics } from "./metrics.ts";
import { Pacer } from "./pacer.ts";
import { StatusPublisher, type StatusTypes } from "./status_publisher.ts";
import type { Subscription } from "./subscriptions.ts";
import { Timers } from "./timers.ts";
import { noTracer, type Tracer } from "./tracing.ts";
import { WaitRegistry } from "./waits.ts";

/** Options of {@linkcode startRuntime}. */
export interface RuntimeOptions {
  readonly state: State;
  readonly controllers: readonly Controller[];
  readonly clock?: Clock;
  /** A number in [0, 1), for jitter. */
  readonly random?: () => number;
  readonly logger?: Logger;
  readonly metrics?: EngineMetrics;
  /** Puts spans around reconciles and calls; none by default. */
  readonly tracer?: Tracer;
  /** Types whose resources are removed when a user has torn them down and nobody holds them. */
  readonly destroys?: readonly ResourceType[];
  /** The types by which clients see what controllers do and wait for; not shown when absent. */
  readonly shows?: StatusTypes;
  /** Between two looks at every item, in milliseconds; ten minutes by default. */
  readonly resyncMs?: number;
  /** Bounds of the wait after a failed attempt; 100 ms to one minute by default. */
  readonly backoff?: BackoffBounds;
  /** How long the end waits for calls that ignore their signal, in ms; three seconds by default. */
  readonly stopMs?: number;
  /** How long controllers may keep the thread at a stretch, in milliseconds. */
  readonly sliceMs?: number;
  /**
   * Called when the engine itself broke a promise: the process must end, because nothing is known any
   * more. By default the error is thrown uncaught.
   */
  readonly onFatal?: (error: unknown) => void;
}

/** Running controllers. */
export interface Runtime extends AsyncDisposable {
  /** Resolves when all watches stand and all items are queued. */
  readonly ready: Promise<void>;
  /** What every item that is not done waits for. */
  readonly waits: WaitRegistry;
  /** Whether no item is waiting for its turn or in work, retries in the future apart. */
  readonly isIdle: boolean;
  /** Keys waiting for their turn, by controller. */
  queueDepths(): ReadonlyMap<string, number>;
  /** Queues every item of every controller behind all others. */
  resync(): Promise<void>;
  /** Stops: calls under way are aborted and awaited, those that do not listen for a few seconds. */
  stop(): Promise<void>;
}

/** What the runtime needs of whatever it runs. */
interface Run {
  readonly name: string;
  readonly subscriptions: readonly Subscription[];
  readonly queueDepth: number;
  readonly isIdle: boolean;
  start(): void;
  resync(): Promise<void>;
  stop(): Promise<void>;
}

const STOP_MS = 3_000;
const RESYNC_MS = 600_000;
const BACKOFF: BackoffBounds = { initialMs: 100, maximumMs: 60_000 };

/** Starts controllers; throws `invalidArgument` when they cannot run together. */
export function startRuntime(options: RuntimeOptions): Runtime {
  requireCompatible(options.controllers);
  const abort = new AbortController();
  const shared = createShared(options, abort.signal, (key) => publisher?.onWaitChanged(key));
  const publisher = options.shows &&
    new StatusPublisher(options.shows, options.controllers, shared);
  const runs: Run[] = options.controllers.map((controller) =>
    new ControllerRun(controller, shared)
  );
  if (publisher !== undefined) runs.push(publisher);
  if (options.destroys !== undefined) runs.push(new Destroyer(options.destroys, shared));
  const { ready, watching } = startWatches(runs, shared);
  const resync = async (): Promise<void> => {
    await Promise.all(runs.map((run) => run.resync()));
  };
  scheduleResync(options.resyncMs ?? RESYNC_MS, shared, resync);
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    abort.abort();
    const ending = [...runs.map((run) => run.stop()), ...watching];
    await patiently(ending, options.stopMs ?? STOP_MS, shared);
    await shared.timers.close();
  };
  const stopOnce = (): Promise<void> => stopped ??= stop();
  return {
    ready,
    waits: shared.waits,
    get isIdle() {
      return runs.every((run) => run.isIdle);
    },
    queueDepths: () => new Map(runs.map((run) => [run.name, run.queueDepth])),
    resync,
    stop: stopOnce,
    [Symbol.asyncDispose]: stopOnce,
  };
}

function createShared(
  options: RuntimeOptions,
  signal: AbortSignal,
  onWaitChanged: (key: string) => void,
): RunShared {
  const clock = options.clock ?? systemClock;
  return {
    state: options.state,
    clock,
    random: options.random ?? Math.random,
    logger: options.logger ?? silentLogger,
    metrics: options.metrics ?? noMetrics,
    tracer: options.tracer ?? noTracer,
    timers: new Timers(clock),
    pacer: new Pacer(options.sliceMs),
    waits: new WaitRegistry(onWaitChanged),
    backoff: options.backoff ?? BACKOFF,
    signal,
    onFatal: options.onFatal ?? throwUncaught,
  };
}

/** Opens one watch for each kind and starts every controller whose watches stand. */
function startWatches(
  runs: readonly Run[],
  shared: RunShared,
): { readonly ready: Promise<void>; readonly watching: readonly Promise<void>[] } {
  const kinds = new Map<string, { kind: Kind; parties: Party[] }>();
  for (const run of runs) {
    const party: PartyOf = { run, missing: 0 };
    const { subscriptions } = run;
    if (subscriptions.length === 0) run.start();
    for (const { kind, subscriber } of subscriptions) {
      const key = `${kind.namespace}/${kind.type}`;
      const entry = kinds.get(key) ?? { kind, parties: [] };
      kinds.set(key, entry);
      entry.parties.push({ of: party, subscriber });
      party.missing += 1;
    }
  }
  const stands: Promise<void>[] = [];
  const watching = [...kinds.values()].map(({ kind, parties }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    stands.push(promise);
    const onReady = (): void => {
      for (const { of } of parties) {
        of.missing -= 1;
        if (of.missing === 0) of.run.start();
      }
      resolve();
    };
    const subscribers = parties.map(({ subscriber }) => subscriber);
    return watchKind({ ...shared, kind, subscribers, onReady }).catch(shared.onFatal).finally(
      resolve,
    );
  });
  return { ready: Promise.all(stands).then(() => {}), watching };
}

interface PartyOf {
  readonly run: Run;
  /** Kinds whose watch does not stand yet. */
  missing: number;
}

interface Party {
  readonly of: PartyOf;
  readonly subscriber: KindSubscriber;
}

/** Waits for work that was told to end, but not for calls that do not listen. */
async function patiently(
  ending: readonly Promise<void>[],
  ms: number,
  { clock, logger }: RunShared,
): Promise<void> {
  const over = new AbortController();
  const patience = clock.sleep(ms, over.signal);
  const ended = Promise.all(ending).then(() => over.abort());
  await Promise.race([ended, patience]);
  if (over.signal.aborted) await patience;
  else logger.warn("controllers did not stop in time", { durationMs: ms });
}

function scheduleResync(ms: number, shared: RunShared, resync: () => Promise<void>): void {
  const { timers, random, logger, signal } = shared;
  // A tenth of jitter, so that several servers do not look at the same moment.
  timers.after(ms * (0.95 + random() / 10), () => {
    if (signal.aborted) return;
    resync().catch((error) => logger.warn("resync failed", { error }));
    scheduleResync(ms, shared, resync);
  });
}

function throwUncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}
