// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A network and a time for tests: packets are late, lost, doubled and out of order as a seed says,
 * and hours pass in moments.
 *
 * @module
 */

import { setImmediate } from "node:timers";
import type { Clock } from "../base/clock.ts";
import { seededRandom } from "./testing.ts";
import type { DatagramHandler, UdpBind, UdpEndpoint } from "./udp.ts";

interface Event {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that stands still until it is told to go on. */
export interface VirtualClock extends Clock {
  /** Runs something at a time. */
  at(atMs: number, run: () => void): void;
  /** Goes from event to event until a promise settles; fails when nothing is left to happen. */
  until<T>(promise: Promise<T>, limitMs?: number): Promise<T>;
  /** Lets a time pass. */
  pass(ms: number): Promise<void>;
}

/** Lets everything happen that can happen without time passing. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Makes a clock that begins at `startMs`. */
export function virtualClock(startMs = 1_700_000_000_000): VirtualClock {
  const events: Event[] = [];
  let nowMs = startMs;
  let order = 0;

  const insert = (event: Event): void => {
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = events[middle] as Event;
      const isBefore = other.atMs > event.atMs ||
        (other.atMs === event.atMs && other.order > event.order);
      // The earliest stands last, where it is cheap to take.
      if (isBefore) low = middle + 1;
      else high = middle;
    }
    events.splice(low, 0, event);
  };
  const at = (atMs: number, run: () => void): void =>
    insert({ atMs: Math.max(atMs, nowMs), order: order++, run });
  const step = (): boolean => {
    const event = events.pop();
    if (event === undefined) return false;
    nowMs = event.atMs;
    event.run();
    return true;
  };
  return {
    nowMs: () => nowMs,
    at,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        at(nowMs + ms, resolve);
        signal?.addEventListener("abort", () => resolve(), { once: true });
      }),
    async until(promise, limitMs = 3_600_000) {
      const endMs = nowMs + limitMs;
      let isSettled = false;
      const settled = (): void => void (isSettled = true);
      promise.then(settled, settled);
      await settle();
      while (!isSettled) {
        if (!step()) throw new Error("Nothing is left to happen");
        if (nowMs > endMs) throw new Error(`Not settled after ${limitMs} ms`);
        await settle();
      }
      return await promise;
    },
    async pass(ms) {
      const endMs = nowMs + ms;
      await settle();
      while ((events.at(-1)?.atMs ?? Infinity) <= endMs) {
        step();
        await settle();
      }
      nowMs = endMs;
    },
  };
}

/** What happens to packets on their way. */
export interface NetworkFaults {
  /** Parts of all packets, from 0 to 1. */
  readonly loss?: number;
  readonly duplicates?: number;
  readonly reordered?: number;
  readonly delayMs?: number;
  /** Bytes in a second that each direction carries; unlimited when absent. */
  readonly bytesPerSecond?: number;
  /** Packets that wait for the line; more are lost. */
  readonly queue?: number;
}

/** A network of binds. */
export interface VirtualNetwork {
  faults: NetworkFaults;
  /** How many packets were sent, and how many did not arrive. */
  readonly counts: { sent: number; lost: number };
  /** Adds a host; its port is 1000 for the first, and counts up. */
  bind(hostname: string): UdpBind;
  /** Sees each datagram on its way; returns whether it may go on. */
  tap: (datagram: Uint8Array, from: UdpEndpoint, to: UdpEndpoint) => boolean;
}

/** Makes a network. */
export function virtualNetwork(
  clock: VirtualClock,
  seed: number,
  faults: NetworkFaults = {},
): VirtualNetwork {
  const random = seededRandom(seed);
  const hosts = new Map<string, DatagramHandler>();
  const counts = { sent: 0, lost: 0 };
  const keyOf = ({ hostname, port }: UdpEndpoint): string => `${hostname} ${port}`;
  let nextPort = 1000;

  const network: VirtualNetwork = {
    faults,
    counts,
    tap: () => true,
    bind(hostname) {
      const self: UdpEndpoint = { hostname, port: nextPort++ };
      const stopped = Promise.withResolvers<void>();
      let lineFreeMs = 0;
      const deliver = (datagram: Uint8Array, to: UdpEndpoint, lateMs: number): void => {
        clock.at(clock.nowMs() + lateMs, () => hosts.get(keyOf(to))?.(datagram, { ...self }));
      };
      return {
        port: self.port,
        run(handler) {
          hosts.set(keyOf(self), handler);
          return stopped.promise;
        },
        send(message, endpoint) {
          const datagram = message.slice();
          counts.sent++;
          const { loss = 0, duplicates = 0, reordered = 0, delayMs = 0 } = network.faults;
          const { bytesPerSecond = Infinity, queue = Infinity } = network.faults;
          const lineMs = datagram.length * 1000 / bytesPerSecond;
          const waitMs = Math.max(0, lineFreeMs - clock.nowMs());
          const isFull = lineMs > 0 && waitMs / lineMs > queue;
          if (isFull || random() < loss || !network.tap(datagram, self, endpoint)) {
            counts.lost++;
            return;
          }
          lineFreeMs = clock.nowMs() + waitMs + lineMs;
          const extraMs = random() < reordered ? 5 * random() + delayMs / 4 : 0;
          deliver(datagram, endpoint, waitMs + lineMs + delayMs + extraMs);
          if (random() < duplicates) deliver(datagram, endpoint, waitMs + lineMs + delayMs + 0.1);
        },
        close() {
          hosts.delete(keyOf(self));
          stopped.resolve();
        },
      };
    },
  };
  return network;
}
