// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The thread of the tunnel; `startTunnel` of `tunnel.ts` starts it.
 *
 * @module
 */

import { WORKER_READY } from "../base/worker.ts";
import { createTunnelHost } from "./tunnel_host.ts";
import type { FromThread, ToThread } from "./tunnel_messages.ts";

interface WorkerScope {
  onmessage: ((event: MessageEvent<ToThread>) => void) | null;
  postMessage(message: FromThread | typeof WORKER_READY, transfer?: Transferable[]): void;
}

/** Serves the program until the worker is terminated. */
function runTunnelWorker(scope: WorkerScope): void {
  const host = createTunnelHost((message, transfer) => scope.postMessage(message, transfer));
  scope.onmessage = ({ data }) => host.handle(data);
  scope.postMessage(WORKER_READY);
}

// A module that is a thread's first one, and only then, begins to serve by being loaded.
const scope: unknown = globalThis;
if (isWorkerScope(scope)) runTunnelWorker(scope);

function isWorkerScope(value: unknown): value is WorkerScope {
  return typeof value === "object" && value !== null && "WorkerGlobalScope" in value &&
    "name" in value && value.name === "tunnel";
}
