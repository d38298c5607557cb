// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The upstreams of one balancer: which of them accept connections, and whose turn it is.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import type { ByteStream } from "../rpc/stream.ts";

/** Opens streams to upstreams. */
export interface UpstreamDialer {
  dial(address: string, port: number, options: { signal?: AbortSignal }): Promise<ByteStream>;
}

/** Options of {@linkcode watchUpstreams}. */
export interface UpstreamsOptions {
  readonly net: UpstreamDialer;
  readonly clock: Clock;
  /** Between two probes while all upstreams are healthy, in ms. */
  readonly probeEveryMs: number;
  /** Between two probes while one is not, in ms. */
  readonly probeDownEveryMs: number;
  readonly signal: AbortSignal;
}

/** A changing set of upstreams, `address:port` each. */
export interface Upstreams {
  /** Replaces the set and probes it at once; the same set again changes nothing. */
  set(upstreams: readonly string[]): void;
  isAnyHealthy(): boolean;
  /** Connects to the next healthy upstream that accepts, or to none. */
  connect(): Promise<ByteStream | undefined>;
}

const DIAL_TIMEOUT_MS = 5_000;

/** Probes upstreams until the signal aborts. */
export function watchUpstreams(first: readonly string[], options: UpstreamsOptions): Upstreams {
  const { net, signal } = options;
  const healthy = new Set<string>();
  let upstreams = [...first];
  let turn = 0;
  let pause = new AbortController();
  const probe = async (): Promise<void> => {
    const probed = [...upstreams];
    const results = await Promise.all(probed.map((upstream) => accepts(upstream, net, signal)));
    const accepting = probed.filter((_, index) => results[index]);
    healthy.clear();
    // The set may have changed while its former members were probed.
    accepting.filter((upstream) => upstreams.includes(upstream)).forEach((u) => healthy.add(u));
  };
  const probeUntilStopped = async (): Promise<void> => {
    while (!signal.aborted) {
      pause = new AbortController();
      const wake = AbortSignal.any([signal, pause.signal]);
      await probe();
      const isAllHealthy = upstreams.every((upstream) => healthy.has(upstream));
      const pauseMs = isAllHealthy ? options.probeEveryMs : options.probeDownEveryMs;
      await options.clock.sleep(pauseMs, wake);
    }
  };
  void probeUntilStopped();
  return {
    set: (wanted) => {
      if (wanted.length === upstreams.length && wanted.every((u, i) => u === upstreams[i])) return;
      upstreams = [...wanted];
      [...healthy].filter((u) => !wanted.includes(u)).forEach((u) => healthy.delete(u));
      pause.abort();
    },
    isAnyHealthy: () => healthy.size > 0,
    connect: async () => {
      const candidates = upstreams.filter((upstream) => healthy.has(upstream));
      const start = turn++;
      for (let index = 0; index < candidates.length; index++) {
        const upstream = candidates[(start + index) % candidates.length] ?? "";
        try {
          return await dial(upstream, net, signal);
        } catch {
          // Out of the rotation until a probe finds it again; the next one is tried.
          healthy.delete(upstream);
        }
      }
      return undefined;
    },
  };
}

async function accepts(
  upstream: string,
  net: UpstreamDialer,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    (await dial(upstream, net, signal)).close();
    return true;
  } catch {
    return false;
  }
}

function dial(upstream: string, net: UpstreamDialer, signal: AbortSignal): Promise<ByteStream> {
  const colon = upstream.lastIndexOf(":");
  const address = upstream.slice(0, colon).replace(/^\[|\]$/g, "");
  const port = Number(upstream.slice(colon + 1));
  const timeout = AbortSignal.timeout(DIAL_TIMEOUT_MS);
  return net.dial(address, port, { signal: AbortSignal.any([signal, timeout]) });
}
