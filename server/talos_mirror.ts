// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Copies the resources of connected machines into the state.
 *
 * It writes them itself, in batches as they come: 30 kinds of thousands of machines are too many to
 * be items of a controller, and nothing has to be decided about a copy. Copies of a machine that
 * disconnects stay; they go with its Machine.
 *
 * @module
 */

import type { Clock } from "../base/clock.ts";
import { codeOf, formatError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { backoffMs } from "../base/retry.ts";
import type { MirrorPort } from "../controllers/talos/session.ts";
import type { SessionHealth, SessionHealthPort } from "../controllers/talos/session_status.ts";
import type { Observation } from "../cosi/collector.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { MirroredKind } from "../talos/mirror.ts";
import { mirrorMachine } from "../talos/mirror.ts";
import type { TalosApi } from "../talos/api.ts";
import type { TalosSessions } from "../talos/session.ts";
import { isSameTarget, type TalosTarget } from "../talos/target.ts";
import { createMirrorCopies } from "./mirror_copies.ts";

/** Options of {@linkcode createTalosMirror}. */
export interface TalosMirrorOptions {
  readonly state: StateCore;
  readonly sessions: TalosSessions;
  readonly talos: Pick<TalosApi, "version">;
  /** Where each kind lives on a machine. */
  readonly kinds: readonly MirroredKind[];
  readonly clock: Clock;
  readonly log: Logger;
}

/** The mirror as the controllers and the server see it. */
export interface TalosMirror extends MirrorPort, SessionHealthPort {
  close(): Promise<void>;
}

interface Following {
  readonly target: TalosTarget;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

const BACKOFF = { initialMs: 1_000, maximumMs: 60_000 };

/** Creates a mirror that follows nobody yet. */
export function createTalosMirror(options: TalosMirrorOptions): TalosMirror {
  const following = new Map<string, Following>();
  const ending = new Map<string, Promise<void>>();
  const copies = createMirrorCopies(options.state);
  const health = createHealthBoard();
  const end = (machineId: string): Promise<void> => {
    const entry = following.get(machineId);
    if (entry === undefined) return ending.get(machineId) ?? Promise.resolve();
    following.delete(machineId);
    entry.stop.abort();
    const ended = entry.ended.finally(() => {
      if (ending.get(machineId) === ended) ending.delete(machineId);
    });
    ending.set(machineId, ended);
    return ended;
  };
  const stopFollowing = async (machineId: string): Promise<void> => {
    const ended = end(machineId);
    options.sessions.close(machineId);
    await ended;
  };
  return {
    follow: (target) => {
      const present = following.get(target.machineId);
      if (present !== undefined && isSameTarget(present.target, target)) return;
      const before = end(target.machineId);
      health.put(target.machineId, unknownOf(target));
      const stop = new AbortController();
      // One session after the other, so that an old one cannot write after the new one began.
      const ended = before.then(() => followMachine(target, options, copies, health, stop.signal));
      following.set(target.machineId, { target, stop, ended });
    },
    pause: (machineId) => {
      const present = following.get(machineId);
      if (present === undefined) return;
      void stopFollowing(machineId);
      health.put(machineId, unknownOf(present.target));
    },
    forget: async (machineId) => {
      await stopFollowing(machineId);
      await copies.removeMachine(machineId);
      health.remove(machineId);
    },
    observe: ({ signal }) => health.observe(signal),
    close: async () => {
      await Promise.all([...following.keys()].map(stopFollowing));
    },
  };
}

type Copies = ReturnType<typeof createMirrorCopies>;
type HealthBoard = ReturnType<typeof createHealthBoard>;

async function followMachine(
  target: TalosTarget,
  { sessions, talos, kinds, clock, log }: TalosMirrorOptions,
  copies: Copies,
  health: HealthBoard,
  signal: AbortSignal,
): Promise<void> {
  const { machineId } = target;
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      const { state } = sessions.open(target);
      for await (const events of mirrorMachine(state, kinds, signal)) {
        attempt = 0;
        await copies.apply(machineId, events, () => talos.version(target, { signal }));
        if (signal.aborted) return;
        // From here on the copies are as the machine is, not as it was before.
        if (!events.some(({ kind }) => kind === "complete")) continue;
        health.put(machineId, { ...unknownOf(target), connected: true });
      }
    } catch (error) {
      if (signal.aborted) return;
      const credentialsRefused = isRefusal(error);
      const lastError = formatError(error);
      health.put(machineId, { ...unknownOf(target), lastError, credentialsRefused });
      log.debug("machine session ended", { machine: machineId, attempt, error });
    }
    await clock.sleep(backoffMs(Math.max(attempt, 1), BACKOFF), signal);
  }
}

/** The health of a session that has not come about yet, or has ended. */
function unknownOf({ boot }: TalosTarget): SessionHealth {
  return { boot, connected: false, lastError: "", credentialsRefused: false };
}

/** The machine runs with a PKI of its own: it refused our certificate, or we refused its. */
function isRefusal(error: unknown): boolean {
  const code = codeOf(error);
  return code === "unauthenticated" || code === "permissionDenied" ||
    /certificate|CERT_|self-signed/i.test(formatError(error));
}

/** Holds the health of all sessions and tells observers of changes. */
function createHealthBoard() {
  const board = new Map<string, SessionHealth>();
  const observers = new Set<(id: string) => void>();
  const changed = (id: string): void => observers.forEach((observer) => observer(id));
  return {
    put: (id: string, value: SessionHealth): void => {
      const before = board.get(id);
      const isSame = before?.boot === value.boot && before.connected === value.connected &&
        before.lastError === value.lastError &&
        before.credentialsRefused === value.credentialsRefused;
      if (isSame) return;
      board.set(id, value);
      changed(id);
    },
    remove: (id: string): void => {
      if (board.delete(id)) changed(id);
    },
    async *observe(signal: AbortSignal): AsyncGenerator<Observation<SessionHealth>> {
      const pending = new Set(board.keys());
      let wake = Promise.withResolvers<void>();
      const observer = (id: string): void => {
        pending.add(id);
        wake.resolve();
      };
      const onAbort = (): void => wake.resolve();
      observers.add(observer);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        while (!signal.aborted) {
          for (const id of pending) {
            pending.delete(id);
            const value = board.get(id);
            yield value === undefined ? { kind: "gone", id } : { kind: "observed", id, value };
          }
          if (pending.size > 0 || signal.aborted) continue;
          wake = Promise.withResolvers<void>();
          await wake.promise;
        }
      } finally {
        observers.delete(observer);
        signal.removeEventListener("abort", onAbort);
      }
    },
  };
}
