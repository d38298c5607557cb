// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A TCP balancer for the Kubernetes API of each cluster: one port, the control planes behind it.
 *
 * It knows no cluster, only entries by ID. A connection goes to the next healthy upstream in turn,
 * and on to the one after it when that refuses; with none left it is closed.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { Logger } from "../base/log.ts";
import { backoffMs } from "../base/retry.ts";
import type { StreamListener } from "../rpc/stream.ts";
import { pipeBoth } from "./pipe.ts";
import { type UpstreamDialer, watchUpstreams } from "./upstreams.ts";

/** Where connections come from and go to. */
export interface BalancerNet extends UpstreamDialer {
  listen(port: number): Promise<StreamListener>;
}

/** What one entry does. */
export interface BalancerEntry {
  /** The port to listen on. */
  readonly port: number;
  /** `address:port`, IPv6 addresses in brackets. */
  readonly upstreams: readonly string[];
}

/** How an entry fares. */
export interface BalancerHealth {
  /** Nothing is listening. */
  readonly stopped: boolean;
  /** At least one upstream accepted its last probe. */
  readonly healthy: boolean;
}

/** The balancers by ID. */
export interface Balancers {
  /** Opens or changes an entry; the same call again changes nothing. */
  put(id: string, entry: BalancerEntry): void;
  /** Ends an entry with all its connections. */
  remove(id: string): void;
  /** A stopped, unhealthy one for an ID that is not there. */
  health(id: string): BalancerHealth;
  close(): void;
}

/** Options of {@linkcode createBalancers}. */
export interface BalancersOptions {
  readonly net: BalancerNet;
  readonly clock: Clock;
  readonly log: Logger;
  /** Between two probes while all upstreams of an entry are healthy, in ms; 20,000 when absent. */
  readonly probeEveryMs?: number;
  /** Between two probes while one is not, in ms; 1,000 when absent. */
  readonly probeDownEveryMs?: number;
}

const PROBE_EVERY_MS = 20_000;
const PROBE_DOWN_EVERY_MS = 1_000;
const LISTEN_BACKOFF = { initialMs: 1_000, maximumMs: 60_000 };

interface RunningEntry {
  readonly port: number;
  setUpstreams(upstreams: readonly string[]): void;
  health(): BalancerHealth;
  close(): void;
}

/** Creates an empty set of balancers. */
export function createBalancers(options: BalancersOptions): Balancers {
  const running = new Map<string, RunningEntry>();
  const remove = (id: string): void => {
    running.get(id)?.close();
    running.delete(id);
  };
  return {
    put: (id, entry) => {
      const present = running.get(id);
      if (present?.port === entry.port) return present.setUpstreams(entry.upstreams);
      remove(id);
      running.set(id, startEntry(id, entry, options));
    },
    remove,
    health: (id) => running.get(id)?.health() ?? { stopped: true, healthy: false },
    close: () => [...running.keys()].forEach(remove),
  };
}

function startEntry(
  id: string,
  entry: BalancerEntry,
  {
    net,
    clock,
    log,
    probeEveryMs = PROBE_EVERY_MS,
    probeDownEveryMs = PROBE_DOWN_EVERY_MS,
  }: BalancersOptions,
): RunningEntry {
  const stop = new AbortController();
  const { signal } = stop;
  const upstreams = watchUpstreams(entry.upstreams, {
    net,
    clock,
    probeEveryMs,
    probeDownEveryMs,
    signal,
  });
  let isListening = false;
  const serve = async (listener: StreamListener): Promise<void> => {
    if (signal.aborted) return listener.close();
    const close = (): void => listener.close();
    signal.addEventListener("abort", close, { once: true });
    isListening = true;
    try {
      for await (const { stream: client } of listener) {
        void upstreams.connect().then((server) =>
          server === undefined ? client.close() : pipeBoth(client, server, signal)
        );
      }
    } finally {
      signal.removeEventListener("abort", close);
      isListening = false;
    }
  };
  const serveUntilStopped = async (): Promise<void> => {
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await serve(await net.listen(entry.port));
        attempt = 0;
      } catch (error) {
        log.warn("balancer cannot listen", { id, attempt, error });
      }
      await clock.sleep(backoffMs(Math.max(attempt, 1), LISTEN_BACKOFF), signal);
    }
  };
  void serveUntilStopped();
  return {
    port: entry.port,
    setUpstreams: (wanted) => upstreams.set(wanted),
    health: () => ({ stopped: !isListening, healthy: upstreams.isAnyHealthy() }),
    close: () => stop.abort(),
  };
}
