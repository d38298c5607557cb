// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The harness of controller tests: the real engine on a state in memory.
 *
 * @module
 */

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Logger } from "../base/log.ts";
import { formatError } from "../base/errors.ts";
import type { Controller } from "./controller.ts";
import { type Metadata, refOf, type Resource, type ResourceType, type SpecOf } from "./resource.ts";
import { type Runtime, type RuntimeOptions, startRuntime } from "./runtime/runtime.ts";
import { decoded, findRaw } from "./runtime/state_reader.ts";
import type { ItemWait } from "./runtime/waits.ts";
import { openState, type StateCore } from "./state/core.ts";
import type { RawResource } from "./state/raw_resource.ts";
import type { State } from "./state/state.ts";
import { openMemoryStore } from "./store/memory.ts";
import { poll, untilChanged } from "./test_until.ts";

/** A plain object for the spec of a type; fields that are left out get their defaults. */
export type SpecInit<T extends ResourceType> = MessageInitShape<T["schema"]>;

/** Metadata that a test may set. */
export type MetadataInit = Partial<
  Pick<Metadata, "labels" | "annotations" | "finalizers" | "owner" | "phase" | "version">
>;

/** A resource as `gather` would read it, without any state. */
export function fakeResource<T extends ResourceType>(
  type: T,
  id: string,
  spec: SpecInit<T>,
  metadata: MetadataInit = {},
): Resource<T> {
  return {
    metadata: { ...newMetadata(type, id), version: 1, ...metadata },
    spec: create(type.schema, spec) as SpecOf<T>,
  };
}

/** Options of {@linkcode startHarness}. */
export interface HarnessOptions
  extends Omit<RuntimeOptions, "state" | "controllers" | "clock" | "logger"> {
  /** Stands between the controllers and the state, to inject faults. */
  readonly wrap?: (state: State) => State;
  readonly logger?: Logger;
}

/** A running engine and what a test does to its state. All calls wait until the engine is up. */
export interface Harness extends AsyncDisposable {
  /** The state itself. */
  state(): Promise<StateCore>;
  /** Creates a resource as a user, or as `owner`. */
  create<T extends ResourceType>(
    type: T,
    id: string,
    spec: SpecInit<T>,
    metadata?: MetadataInit,
  ): Promise<void>;
  /** Replaces the spec, and the labels and annotations where given, as the resource's owner. */
  update<T extends ResourceType>(
    type: T,
    id: string,
    spec: SpecInit<T> | ((resource: Resource<T>) => SpecInit<T>),
    metadata?: MetadataInit,
  ): Promise<void>;
  /** Marks for removal, as the resource's owner. */
  teardown(type: ResourceType, id: string): Promise<void>;
  /** Removes, as the resource's owner. */
  destroy(type: ResourceType, id: string): Promise<void>;
  find<T extends ResourceType>(type: T, id: string): Promise<Resource<T> | undefined>;
  list<T extends ResourceType>(type: T): Promise<readonly Resource<T>[]>;
  /** Waits until the resource exists and `check` does not throw; returns the resource. */
  eventually<T extends ResourceType>(
    type: T,
    id: string,
    check?: (resource: Resource<T>) => void,
  ): Promise<Resource<T>>;
  eventuallyGone(type: ResourceType, id: string): Promise<void>;
  /** Waits until an item is not done and `check` does not throw on why. */
  eventuallyWaits(
    controller: string,
    id: string,
    check?: (wait: ItemWait) => void,
  ): Promise<ItemWait>;
  /** Waits until no item is queued or in work: what did not happen by then will not. */
  settled(): Promise<void>;
  /** Stops the engine and starts it again on the same state, optionally with other controllers. */
  restart(...controllers: readonly Controller[]): Promise<void>;
  /** Stops the engine; the state stays usable until the harness is disposed. */
  stop(): Promise<void>;
}

/** Starts controllers on an empty state in memory. */
export function startHarness(...args: readonly (Controller | HarnessOptions)[]): Harness {
  const controllers = args.filter((arg): arg is Controller => "shape" in arg);
  const options: HarnessOptions = Object.assign({}, ...args.filter((arg) => !("shape" in arg)));
  return new EngineHarness(controllers, options);
}

class EngineHarness implements Harness {
  #controllers: readonly Controller[];
  readonly #options: HarnessOptions;
  readonly #state: Promise<StateCore>;
  #runtime: Promise<Runtime>;
  #fatal: unknown;

  constructor(controllers: readonly Controller[], options: HarnessOptions) {
    this.#controllers = controllers;
    this.#options = options;
    this.#state = openState({ store: openMemoryStore() });
    this.#runtime = this.#start();
    // A test that never awaits the harness still hears of a bad declaration when it disposes it.
    this.#runtime.catch(() => {});
  }

  async #start(): Promise<Runtime> {
    const state = await this.#state;
    const { wrap, ...options } = this.#options;
    const runtime = startRuntime({
      // Tests wait for retries; the order of magnitude is not what they are about.
      backoff: { initialMs: 2, maximumMs: 100 },
      onFatal: (error) => void (this.#fatal ??= error),
      ...options,
      state: wrap?.(state) ?? state,
      controllers: this.#controllers,
    });
    await runtime.ready;
    return runtime;
  }

  async state(): Promise<StateCore> {
    await this.#runtime;
    return await this.#state;
  }

  async create<T extends ResourceType>(
    type: T,
    id: string,
    spec: SpecInit<T>,
    init: MetadataInit = {},
  ): Promise<void> {
    const state = await this.state();
    const metadata = { ...newMetadata(type, id), ...init };
    const protoSpec = toBinary(type.schema, create(type.schema, spec));
    await state.create({ metadata, protoSpec, yamlSpec: "" }, { owner: metadata.owner });
  }

  async update<T extends ResourceType>(
    type: T,
    id: string,
    change: SpecInit<T> | ((resource: Resource<T>) => SpecInit<T>),
    init: MetadataInit = {},
  ): Promise<void> {
    const state = await this.state();
    // Controllers edit finalizers meanwhile: a lost race is no result of the test.
    for (let attempt = 1;; attempt++) {
      const stored = await state.get(refOf(type, id));
      const spec = typeof change === "function" ? change(decoded(type, stored)) : change;
      const { version, owner } = stored.metadata;
      try {
        await state.update({
          metadata: { ...stored.metadata, ...init, version },
          protoSpec: toBinary(type.schema, create(type.schema, spec)),
          yamlSpec: "",
        }, { owner });
        return;
      } catch (error) {
        if (attempt === 20) throw error;
      }
    }
  }

  async teardown(type: ResourceType, id: string): Promise<void> {
    const state = await this.state();
    const { metadata } = await state.get(refOf(type, id));
    await state.teardown(metadata, { owner: metadata.owner });
  }

  async destroy(type: ResourceType, id: string): Promise<void> {
    const state = await this.state();
    const { metadata } = await state.get(refOf(type, id));
    await state.destroy(metadata, { owner: metadata.owner });
  }

  async find<T extends ResourceType>(type: T, id: string): Promise<Resource<T> | undefined> {
    const raw = await findRaw(await this.state(), refOf(type, id));
    return raw === undefined ? undefined : decoded(type, raw);
  }

  async list<T extends ResourceType>(type: T): Promise<readonly Resource<T>[]> {
    const all = await (await this.state()).list(type);
    return all.map((raw) => decoded(type, raw));
  }

  async eventually<T extends ResourceType>(
    type: T,
    id: string,
    check: (resource: Resource<T>) => void = () => {},
  ): Promise<Resource<T>> {
    return await this.#until(type, id, (raw) => {
      if (raw === undefined) throw new Error("it does not exist");
      const resource = decoded(type, raw);
      check(resource);
      return resource;
    });
  }

  async eventuallyGone(type: ResourceType, id: string): Promise<void> {
    await this.#until(type, id, (raw) => {
      if (raw === undefined) return;
      const { phase, finalizers } = raw.metadata;
      throw new Error(`it is ${phase}, finalizers: [${finalizers.join(", ")}]`);
    });
  }

  async eventuallyWaits(
    controller: string,
    id: string,
    check: (wait: ItemWait) => void = () => {},
  ): Promise<ItemWait> {
    const { waits } = await this.#runtime;
    return await poll(() => {
      const wait = waits.find(controller, id);
      if (wait === undefined || wait.state === "acting") {
        throw new Error(`"${controller}" does not wait for "${id}"`);
      }
      check(wait);
      return wait;
    });
  }

  async settled(): Promise<void> {
    const runtime = await this.#runtime;
    let quiet = 0;
    await poll(() => {
      quiet = runtime.isIdle ? quiet + 1 : 0;
      // An event on its way to a queue needs a turn of the event loop, a chain of them several.
      if (quiet < 3) throw new Error("Controllers are still at work");
    });
  }

  async restart(...controllers: readonly Controller[]): Promise<void> {
    await (await this.#runtime).stop();
    if (controllers.length > 0) this.#controllers = controllers;
    this.#runtime = this.#start();
    await this.#runtime;
  }

  async stop(): Promise<void> {
    await (await this.#runtime).stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.stop();
    } finally {
      await (await this.#state).close();
    }
    if (this.#fatal !== undefined) throw this.#fatal;
  }

  /** Tries at every change of the resource until `attempt` does not throw. */
  async #until<R>(
    type: ResourceType,
    id: string,
    attempt: (raw: RawResource | undefined) => R,
  ): Promise<R> {
    try {
      return await untilChanged(await this.state(), refOf(type, id), attempt);
    } catch (error) {
      throw await this.#explain(type, id, error);
    }
  }

  async #explain(type: ResourceType, id: string, failure: unknown): Promise<Error> {
    const { waits } = await this.#runtime;
    const lines = waits.list().map(({ controller, id, state, reason }) =>
      `\n  ${controller} ${id} ${state}: ${reason}`
    );
    const what = `"${type.type}" "${id}" is not as expected: ${formatError(failure)}`;
    return new Error(`${what}${lines.join("")}`, { cause: failure });
  }
}

function newMetadata(type: ResourceType, id: string): Metadata {
  return {
    ...refOf(type, id),
    version: 0,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels: {},
    annotations: {},
  };
}
