// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Shows the engine to clients: what its controllers read and write, and what they wait for.
 *
 * The resources are the only way by which a client of a remote server learns why something is not
 * where it should be. They are written a moment later than the wait began, so that what only takes
 * its turn is never shown.
 *
 * @module
 */

import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { redactParameters } from "../../base/redact.ts";
import { backoffMs } from "../../base/retry.ts";
import type {
  ControllerSpecSchema,
  ControllerWaitSpecSchema,
} from "../../proto/gen/batuta/engine_pb.ts";
import type { Controller, Desired } from "../controller.ts";
import type { Kind, ResourceType } from "../resource.ts";
import type { RunShared } from "./controller_run.ts";
import { Outputs } from "./outputs.ts";
import { findRaw } from "./state_reader.ts";
import { StateWriter } from "./state_writer.ts";
import type { Subscription } from "./subscriptions.ts";
import type { ItemWait } from "./waits.ts";
import { WorkQueue } from "./work_queue.ts";

/** The types by which the engine shows itself, and the labels of the second. */
export interface StatusTypes {
  readonly controllers: ResourceType<typeof ControllerSpecSchema>;
  readonly waits: ResourceType<typeof ControllerWaitSpecSchema>;
  readonly itemTypeLabel: string;
  readonly itemIdLabel: string;
}

/** Waits that end within this time are not shown. */
const SETTLE_MS = 200;
const CONCURRENCY = 8;
/** The key of the look at what was shown before; IDs and names are not empty. */
const SWEEP = "\0";

/** Writes the resources. */
export class StatusPublisher {
  readonly name = "engine.StatusPublisher";
  readonly subscriptions: readonly Subscription[] = [];
  readonly #types: StatusTypes;
  readonly #shared: RunShared;
  readonly #controllers: readonly Controller[];
  readonly #queue: WorkQueue;
  readonly #waits: Outputs;
  readonly #writer: StateWriter;
  readonly #attempts = new Map<string, number>();
  #dirty = new Set<string>();

  constructor(types: StatusTypes, controllers: readonly Controller[], shared: RunShared) {
    this.#types = types;
    this.#shared = shared;
    this.#controllers = controllers;
    const { state, metrics, timers, pacer, onFatal } = shared;
    const { name } = this;
    const onWrite = (): void => metrics.countWrite(name);
    const onRead = (): void => metrics.countRead(name);
    this.#writer = new StateWriter({ state, name, onWrite });
    this.#waits = new Outputs({
      state,
      writer: this.#writer,
      name,
      declaration: { type: types.waits, primaryLabel: undefined },
      onRead,
    });
    this.#queue = new WorkQueue({
      concurrency: CONCURRENCY,
      timers,
      pacer,
      onFault: onFatal,
      run: (key) => this.#publish(key),
    });
  }

  get queueDepth(): number {
    return this.#queue.depth;
  }

  /** Whether the controllers are at rest does not depend on who shows them. */
  get isIdle(): boolean {
    return true;
  }

  /** Hears that the wait of an item began, changed or ended. */
  onWaitChanged(key: string): void {
    if (this.#dirty.size === 0) this.#shared.timers.after(SETTLE_MS, () => this.#flush());
    this.#dirty.add(key);
  }

  start(): void {
    this.#queue.add(SWEEP);
    for (const { name } of this.#controllers) this.#queue.add(`\0${name}`);
    this.#queue.start();
  }

  resync(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#queue.close();
  }

  #flush(): void {
    const keys = this.#dirty;
    this.#dirty = new Set();
    for (const key of keys) this.#queue.add(key);
  }

  async #publish(key: string): Promise<number | undefined> {
    const { metrics, logger, signal, backoff, random } = this.#shared;
    metrics.countWakeup(this.name);
    try {
      if (key === SWEEP) await this.#sweep();
      else if (key.startsWith("\0")) await this.#publishController(key.slice(1));
      else await this.#publishWait(key);
      this.#attempts.delete(key);
      return undefined;
    } catch (error) {
      if (signal.aborted) return undefined;
      const attempt = (this.#attempts.get(key) ?? 0) + 1;
      this.#attempts.set(key, attempt);
      logger.warn("reconcile failed", { controller: this.name, id: key, attempt, error });
      return backoffMs(attempt, { ...backoff, random });
    }
  }

  /** Looks at what an engine before this one has shown. */
  async #sweep(): Promise<void> {
    for (const { metadata } of await this.#shared.state.list(this.#types.waits)) {
      this.#queue.add(metadata.id);
    }
  }

  async #publishWait(key: string): Promise<void> {
    const wait = this.#shared.waits.get(key);
    const stored = await this.#waits.of(key);
    const desired = new Set(wait === undefined ? [] : [key]);
    const remaining = await this.#waits.clear(stored, desired);
    if (wait === undefined || remaining.length > 0) return;
    await this.#waits.write(
      key,
      key,
      waitResource(wait, this.#types),
      stored.get(key),
    );
  }

  async #publishController(name: string): Promise<void> {
    const controller = this.#controllers.find((each) => each.name === name);
    if (controller === undefined) return;
    const { controllers: type } = this.#types;
    const ref = { namespace: type.namespace, type: type.type, id: name };
    const stored = await findRaw(this.#shared.state, ref);
    await this.#writer.write(type, name, controllerResource(controller), stored);
  }
}

function waitResource(wait: ItemWait, types: StatusTypes): Desired<StatusTypes["waits"]> {
  return {
    labels: { [types.itemTypeLabel]: wait.type, [types.itemIdLabel]: wait.id },
    spec: {
      controller: wait.controller,
      itemType: wait.type,
      itemId: wait.id,
      state: wait.state,
      // Errors carry no secrets; this is the second line of defence on the way to every client.
      reason: redactParameters(wait.reason),
      blockers: wait.blockers.map(({ namespace, type, id }) => ({ namespace, type, id })),
      attempts: wait.attempts,
      since: timestampFromMs(wait.sinceMs),
    },
  };
}

function controllerResource(controller: Controller): Desired<StatusTypes["controllers"]> {
  const { shape, mapped, output } = controller;
  const primary = shape === "collector" ? {} : { primary: kindOf(controller.primary) };
  return {
    spec: {
      shape,
      ...primary,
      inputs: mapped.map(({ type, rule, held }) => ({
        kind: kindOf(type),
        rule: rule.kind,
        label: "label" in rule ? rule.label : "",
        held,
      })),
      output: kindOf(output.type),
      primaryLabel: output.primaryLabel ?? "",
    },
  };
}

function kindOf({ namespace, type }: ResourceType): Kind {
  return { namespace, type };
}
