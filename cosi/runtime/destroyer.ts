// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Removes what a user has marked for removal, once nobody holds it any more.
 *
 * A client that tears down and then goes away would otherwise leave the resource behind for ever.
 * Resources with an owner are removed by their controller.
 *
 * @module
 */

import { codeOf } from "../../base/errors.ts";
import { backoffMs } from "../../base/retry.ts";
import type { ResourceType } from "../resource.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { RunShared } from "./controller_run.ts";
import { findRaw } from "./state_reader.ts";
import type { Subscription } from "./subscriptions.ts";
import { WorkQueue } from "./work_queue.ts";

const CONCURRENCY = 16;

/** Removes torn-down resources of some types. */
export class Destroyer {
  readonly name = "engine.Destroyer";
  readonly subscriptions: readonly Subscription[];
  readonly #shared: RunShared;
  readonly #types: readonly ResourceType[];
  readonly #queue: WorkQueue;
  readonly #attempts = new Map<string, number>();

  constructor(types: readonly ResourceType[], shared: RunShared) {
    this.#types = types;
    this.#shared = shared;
    this.#queue = new WorkQueue({
      concurrency: CONCURRENCY,
      timers: shared.timers,
      pacer: shared.pacer,
      onFault: shared.onFatal,
      run: (key) => this.#work(key),
    });
    this.subscriptions = types.map((type, at) => ({
      kind: { namespace: type.namespace, type: type.type },
      subscriber: {
        onSnapshot: (resources) => resources.forEach((resource) => this.#offer(at, resource)),
        onEvent: ({ type, resource }) => {
          if (type !== "destroyed") this.#offer(at, resource);
        },
      },
    }));
  }

  get queueDepth(): number {
    return this.#queue.depth;
  }

  get isIdle(): boolean {
    return this.#queue.isIdle;
  }

  start(): void {
    this.#queue.start();
  }

  /** Events tell everything: there is nothing to look at again. */
  resync(): Promise<void> {
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    await this.#queue.close();
  }

  #offer(at: number, resource: RawResource): void {
    if (isAbandoned(resource)) this.#queue.add(`${at}/${resource.metadata.id}`);
  }

  async #work(key: string): Promise<number | undefined> {
    const { state, logger, metrics, signal, backoff, random } = this.#shared;
    const slash = key.indexOf("/");
    const type = this.#types[Number(key.slice(0, slash))];
    const id = key.slice(slash + 1);
    if (type === undefined) throw new Error(`Unknown key "${key}"`);
    metrics.countWakeup(this.name);
    try {
      const ref = { namespace: type.namespace, type: type.type, id };
      const stored = await findRaw(state, ref);
      metrics.countRead(this.name);
      if (stored !== undefined && isAbandoned(stored)) {
        await state.destroy(ref, { owner: "" });
        metrics.countWrite(this.name);
        logger.info("resource removed", { type: type.type, id });
      }
      this.#attempts.delete(key);
      return undefined;
    } catch (error) {
      const code = codeOf(error);
      // Somebody was faster, or holds it again: the next event tells.
      if (code === "notFound" || code === "conflict" || signal.aborted) {
        this.#attempts.delete(key);
        return undefined;
      }
      const attempt = (this.#attempts.get(key) ?? 0) + 1;
      this.#attempts.set(key, attempt);
      logger.warn("reconcile failed", {
        controller: this.name,
        type: type.type,
        id,
        attempt,
        error,
      });
      return backoffMs(attempt, { ...backoff, random });
    }
  }
}

function isAbandoned({ metadata: { phase, owner, finalizers } }: RawResource): boolean {
  return phase === "tearingDown" && owner === "" && finalizers.length === 0;
}
