// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The thread of a fleet; `startFleetThread` of `fleet_thread.ts` starts it.
 *
 * @module
 */

import { formatError } from "../base/errors.ts";
import type { LogFields, Logger } from "../base/log.ts";
import { WORKER_READY } from "../base/worker.ts";
import { type Fleet, startFleet } from "./fleet.ts";
import {
  type FleetAction,
  type FleetMessage,
  type FleetRequest,
  type FleetValue,
  VIEW_INTERVAL_MS,
} from "./fleet_messages.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<FleetRequest>) => void) | null;
  postMessage(message: FleetMessage | typeof WORKER_READY): void;
}

/** Serves a program until the worker is terminated. */
export function runFleetWorker(scope: WorkerScope): void {
  let fleet: Fleet | undefined;
  const answer = async (request: FleetRequest): Promise<FleetValue | undefined> => {
    switch (request.kind) {
      case "start":
        fleet = startFleet(request.options, { log: postingLogger(scope) });
        postViews(scope, fleet);
        return undefined;
      case "act":
        await act(fleet, request.uuid, request.action);
        return undefined;
      case "calls":
        return new Map(fleet?.find(request.uuid)?.calls);
      case "memory":
        return fleet?.memory();
      case "stop":
        await fleet?.close();
        return undefined;
    }
  };
  scope.onmessage = ({ data }) => {
    const { id } = data;
    answer(data).then(
      (value) =>
        scope.postMessage({ kind: "reply", id, ...(value === undefined ? {} : { value }) }),
      (error) => scope.postMessage({ kind: "error", id, text: formatError(error) }),
    );
  };
  scope.postMessage(WORKER_READY);
}

function postViews(scope: WorkerScope, fleet: Fleet): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const post = (): void => {
    timer = undefined;
    scope.postMessage({ kind: "views", views: fleet.views() });
  };
  fleet.onChange(() => timer ??= setTimeout(post, VIEW_INTERVAL_MS));
  post();
}

async function act(fleet: Fleet | undefined, uuid: string, action: FleetAction): Promise<void> {
  const machine = fleet?.find(uuid);
  if (machine === undefined) throw new RangeError(`no machine "${uuid}" in the fleet`);
  await machine[action]();
}

function postingLogger(scope: WorkerScope): Logger {
  const at =
    (level: "debug" | "info" | "warn" | "error") => (message: string, fields: LogFields = {}) => {
      const { error, ...rest } = fields;
      scope.postMessage({
        kind: "log",
        level,
        message,
        // An error may hold what cannot be cloned, so its text goes.
        fields: error === undefined ? rest : { ...rest, error: formatError(error) },
      });
    };
  return { debug: () => {}, info: at("info"), warn: at("warn"), error: at("error") };
}

// A module that is a thread's first one, and only then, begins to serve by being loaded.
const scope: unknown = globalThis;
if (isWorkerScope(scope)) runFleetWorker(scope);

function isWorkerScope(value: unknown): value is WorkerScope {
  return typeof value === "object" && value !== null && "WorkerGlobalScope" in value &&
    "name" in value && value.name === "lab";
}
