// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps a local etcd running: starts it again where it ended, and gives up where that does not help.
 *
 * Writes wait for it meanwhile, as they do for any etcd that is away (`etcd.ts`), and nothing is lost:
 * that is better for everyone than a server that ends and builds everything anew.
 *
 * @module
 */

import { type Clock, systemClock } from "../../base/clock.ts";
import { CodedError } from "../../base/errors.ts";
import type { Logger } from "../../base/log.ts";
import { backoffMs } from "../../base/retry.ts";
import { type EtcdChild, type EtcdChildOptions, startEtcd } from "./etcd_child.ts";

/** Options of {@linkcode superviseEtcd}. */
export interface SupervisorOptions
  extends Pick<EtcdChildOptions, "binary" | "dataDirectory" | "signal"> {
  readonly log: Logger;
  /** Is told once that etcd does not stay, and is not started any more. */
  readonly onFailure: (error: unknown) => void;
  readonly clock?: Clock | undefined;
}

/** An etcd that is started again when it ends. */
export interface SupervisedEtcd {
  /** Stays the same. */
  readonly endpoint: string;
  /** Ends it for good. */
  close(): Promise<void>;
}

/** Starts in a row that are tried; their waits together take 7.5 s at most. */
const STARTS = 5;

/** One that ran for so long was not started in vain, in ms. */
const STEADY_MS = 60_000;

const BACKOFF = { initialMs: 500, maximumMs: 8_000 };

/**
 * Seconds of the lease with which a server holds such an etcd: it must outlive all starts in a row,
 * and costs nothing, since no other server waits for its end.
 */
export const CHILD_LEASE_SECONDS = 60;

/** How long to wait before start number `attempt` in a row (the first is 1); `undefined`: give up. */
export function startDelayMs(attempt: number, random?: () => number): number | undefined {
  if (attempt > STARTS) return undefined;
  if (attempt === 1) return 0;
  return backoffMs(attempt - 1, { ...BACKOFF, ...(random === undefined ? {} : { random }) });
}

/** What a line of etcd is to us: a line of its log says its level, anything else is a crash. */
export function levelOfLine(line: string): "debug" | "warn" | "error" {
  const level = /^\{"level":"(\w+)"/.exec(line)?.[1];
  if (level === undefined || level === "warn") return "warn";
  return level === "info" || level === "debug" ? "debug" : "error";
}

/** Starts etcd and keeps it running. Throws what {@linkcode startEtcd} throws. */
export async function superviseEtcd(options: SupervisorOptions): Promise<SupervisedEtcd> {
  const { log } = options;
  const onLine = (line: string): void => log[levelOfLine(line)]("etcd says", { reason: line });
  const first = await startEtcd({ ...options, onLine });
  log.info("etcd started", { address: first.endpoint });
  const stop = new AbortController();
  const again = { ...options, onLine, port: first.port, signal: stop.signal };
  const keeping = keep(first, again).catch((error) => {
    if (!stop.signal.aborted) options.onFailure(error);
  });
  return {
    endpoint: first.endpoint,
    async close() {
      stop.abort();
      await keeping;
    },
  };
}

/** Keeps etcd running until the signal aborts, and ends it then. Throws when it does not stay. */
async function keep(
  first: EtcdChild,
  options: SupervisorOptions & EtcdChildOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const { log, signal, clock = systemClock } = options;
  const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
  let attempt = 0;
  for (let child = first;;) {
    const startedAtMs = clock.nowMs();
    const printed = await Promise.race([child.ended, stopped]);
    if (printed === undefined || signal.aborted) return await child.close();
    log.error("etcd ended", { reason: printed });
    if (clock.nowMs() - startedAtMs >= STEADY_MS) attempt = 0;
    let next: EtcdChild | undefined;
    while (next === undefined) {
      const delayMs = startDelayMs(++attempt);
      if (delayMs === undefined) throw gaveUp(printed);
      await clock.sleep(delayMs, signal);
      if (signal.aborted) return;
      next = await startAgain(options, attempt);
    }
    child = next;
  }
}

async function startAgain(
  options: SupervisorOptions & EtcdChildOptions,
  attempt: number,
): Promise<EtcdChild | undefined> {
  try {
    const child = await startEtcd(options);
    options.log.info("etcd started again", { address: child.endpoint, attempt });
    return child;
  } catch (error) {
    if (!options.signal?.aborted) options.log.error("etcd not started", { attempt, error });
    return undefined;
  }
}

function gaveUp(printed: string): CodedError {
  return new CodedError(
    "unavailable",
    `Cannot keep etcd running: ${STARTS} starts in a row were in vain; it printed last: ${printed}`,
  );
}
