// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A fleet in a thread of its own, so that emulating machines never delays the server.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/log.ts";
import { startWorker } from "../base/worker.ts";
import type { FleetOptions } from "./fleet.ts";
import type { FleetAction, FleetMessage, FleetRequestBody, FleetValue } from "./fleet_messages.ts";
import type { MachineView } from "./machine.ts";
import { createSignal } from "./signal.ts";

/** A fleet that runs elsewhere. */
export interface FleetThread {
  /** How the machines looked a moment ago. */
  views(): readonly MachineView[];
  until(
    condition: (views: readonly MachineView[]) => boolean,
    signal?: AbortSignal,
  ): Promise<void>;
  onChange(listener: () => void): () => void;
  act(uuid: string, action: FleetAction): Promise<void>;
  /** Calls that reached a machine, by method name. */
  calls(uuid: string): Promise<ReadonlyMap<string, number>>;
  /** The disks of all machines and what they belong to, for another run. */
  memory(): Promise<string>;
  close(): Promise<void>;
}

interface Pending {
  resolve(value: FleetValue | undefined): void;
  reject(error: unknown): void;
}

/** Starts a worker with a fleet in it. */
export async function startFleetThread(
  options: FleetOptions,
  { log = silentLogger }: { readonly log?: Logger } = {},
): Promise<FleetThread> {
  const worker = await startWorker("lab", new URL("./fleet_worker.ts", import.meta.url));
  const changed = createSignal();
  const pending = new Map<number, Pending>();
  let views: readonly MachineView[] = [];
  let lastId = 0;
  const fail = (text: string): void => {
    for (const { reject } of pending.values()) reject(new CodedError("internal", text));
    pending.clear();
  };
  worker.onerror = (event) => {
    event.preventDefault();
    log.error("fleet thread failed", { error: event.message });
    fail(`The fleet's thread failed: ${event.message}`);
  };
  worker.onmessage = ({ data }: MessageEvent<FleetMessage>) => {
    switch (data.kind) {
      case "views":
        views = data.views;
        return changed.fire();
      case "log":
        return log[data.level](data.message, data.fields);
      case "reply":
        pending.get(data.id)?.resolve(data.value);
        return void pending.delete(data.id);
      case "error":
        pending.get(data.id)?.reject(new CodedError("internal", data.text));
        return void pending.delete(data.id);
    }
  };
  const ask = (body: FleetRequestBody): Promise<FleetValue | undefined> =>
    new Promise((resolve, reject) => {
      const id = ++lastId;
      pending.set(id, { resolve, reject });
      worker.postMessage({ ...body, id });
    });
  await ask({ kind: "start", options });
  return {
    views: () => views,
    until: (condition, signal) => changed.until(() => condition(views), signal),
    onChange: (listener) => changed.subscribe(listener),
    act: async (uuid, action) => void await ask({ kind: "act", uuid, action }),
    calls: async (uuid) => {
      const calls = await ask({ kind: "calls", uuid });
      return calls instanceof Map ? calls : new Map();
    },
    memory: async () => String(await ask({ kind: "memory" })),
    close: async () => {
      await ask({ kind: "stop" });
      worker.terminate();
    },
  };
}
