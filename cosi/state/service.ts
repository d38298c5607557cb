// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The gRPC service `cosi.resource.State` on a state: it passes bytes through and decodes only what it
 * decides on.
 *
 * @module
 */

import { CodedError, codeOf } from "../../base/errors.ts";
import { type CallContext, type MessageSink, rawService, type Service } from "../../rpc/service.ts";
import type { Kind } from "../resource.ts";
import { ByteCache } from "./byte_cache.ts";
import type { StateCore } from "./core.ts";
import { createdHead, encodeEvent } from "./event_wire.ts";
import { RawResource } from "./raw_resource.ts";
import {
  readListRequest,
  readRefRequest,
  readWatchRequest,
  readWriteRequest,
  type RefRequest,
  type WatchRequest,
} from "./requests.ts";
import { checkDraft, checkNames, type NameLimits, withNameLimits } from "./request_limits.ts";
import { ReadyQueue } from "./ready_queue.ts";
import { notFound } from "./rules.ts";
import { Slicer } from "./slices.ts";
import type { ResourceDraft, StateEvent } from "./state.ts";
import { streamWatch } from "./watch_stream.ts";
import type { Watcher } from "./watcher.ts";

/** What a client wants to do. */
export type AccessVerb = "get" | "list" | "watch" | "create" | "update" | "teardown" | "destroy";

/** Who wants it. */
export interface Peer {
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** Decides what clients may do. */
export interface AccessPolicy {
  /** Throws the `CodedError` that the client gets when it may not. */
  check(
    verb: AccessVerb,
    target: Kind & { readonly id?: string | undefined },
    peer: Peer,
    draft?: ResourceDraft,
  ): void;
}

/** Bounds of what one client may ask. */
export interface StateLimits extends NameLimits {
  /** Open watches of one connection. */
  readonly watchesPerConnection: number;
}

/** Options of {@linkcode createStateService}. */
export interface StateServiceOptions {
  /** Everything is allowed when absent. */
  readonly policy?: AccessPolicy;
  /**
   * The YAML text of the spec of a resource of a declared type, `undefined` for other types: those
   * come back with the text that they were written with. Called once for each version that is read.
   */
  readonly yamlSpecOf?: (resource: RawResource) => string | undefined;
  /** Whether `yamlSpecOf` knows a type: text that comes with it is dropped. */
  readonly isDeclared?: (type: string) => boolean;
  readonly limits?: Partial<StateLimits>;
}

/** Bytes of replies with YAML that are kept, twice: enough for what is read again and again. */
const YAML_CACHE_BYTES = 32 << 20;

/** Bytes of events that are kept in wire form, twice: watches of one kind send the same bytes. */
const EVENT_CACHE_BYTES = 4 << 20;

const EMPTY = new Uint8Array(0);
const READY_REPLY = Uint8Array.of(8, 1); // destroy_ready = true
const WATCHES_PER_CONNECTION = 4000;

/** Creates the service. */
export function createStateService(state: StateCore, options: StateServiceOptions = {}): Service {
  const handlers = new Handlers(state, options);
  return rawService("cosi.resource.State", {
    Get: { unary: (request, context) => handlers.get(request, context) },
    List: { serverSink: (request, context, sink) => handlers.list(request, context, sink) },
    Create: { unary: (request, context) => handlers.create(request, context) },
    Update: { unary: (request, context) => handlers.update(request, context) },
    Destroy: { unary: (request, context) => handlers.destroy(request, context) },
    Teardown: { unary: (request, context) => handlers.teardown(request, context) },
    TeardownAndDestroy: {
      unary: (request, context) => handlers.teardownAndDestroy(request, context),
    },
    Watch: { serverSink: (request, context, sink) => handlers.watch(request, context, sink) },
  });
}

class Handlers {
  readonly #state: StateCore;
  readonly #policy: AccessPolicy | undefined;
  readonly #yamlSpecOf: ((resource: RawResource) => string | undefined) | undefined;
  readonly #isDeclared: (type: string) => boolean;
  readonly #nameLimits: NameLimits;
  readonly #watchesPerConnection: number;
  readonly #ready = new ReadyQueue();
  readonly #watches = new Map<string, number>();
  readonly #yaml = new ByteCache<RawResource>(YAML_CACHE_BYTES);
  readonly #events = new ByteCache<StateEvent>(EVENT_CACHE_BYTES);

  constructor(state: StateCore, options: StateServiceOptions) {
    this.#state = state;
    this.#policy = options.policy;
    this.#yamlSpecOf = options.yamlSpecOf;
    this.#isDeclared = options.isDeclared ?? (() => false);
    this.#nameLimits = withNameLimits(options.limits);
    this.#watchesPerConnection = options.limits?.watchesPerConnection ?? WATCHES_PER_CONNECTION;
  }

  /** The reply that carries a resource, with YAML where that is ours to fill in. */
  #message(resource: RawResource): Uint8Array {
    if (this.#yamlSpecOf === undefined) return resource.message;
    return this.#yaml.get(resource, this.#withYaml);
  }

  readonly #withYaml = (resource: RawResource): Uint8Array => {
    const text = this.#yamlSpecOf?.(resource);
    if (text === undefined) return resource.message;
    return new RawResource(resource.metadata, resource.protoSpec, text).message;
  };

  readonly #event = (event: StateEvent): Uint8Array => {
    const { type, resource, old, bookmark, error } = event;
    return encodeEvent({
      type,
      resource: this.#message(resource),
      old: old && this.#message(old),
      bookmark,
      error,
    });
  };

  /** An event without a bookmark belongs to one bootstrap: its bytes are not needed again. */
  readonly #encode = (event: StateEvent): Uint8Array =>
    event.bookmark === undefined ? this.#event(event) : this.#events.get(event, this.#event);

  readonly #encodeParts = (event: StateEvent, parts: Uint8Array[]): number => {
    if (event.type !== "created" || event.bookmark !== undefined) {
      const whole = this.#encode(event);
      parts.push(whole);
      return whole.length;
    }
    const message = this.#message(event.resource);
    const head = createdHead(message);
    parts.push(head, message);
    return head.length + message.length;
  };

  #readRef(request: Uint8Array): RefRequest {
    const ref = readRefRequest(request);
    checkNames(ref, this.#nameLimits);
    return ref;
  }

  get(request: Uint8Array, context: CallContext): Uint8Array {
    const ref = this.#readRef(request);
    this.#policy?.check("get", ref, context);
    const resource = this.#state.peek(ref);
    if (resource === undefined) throw notFound(ref);
    return this.#message(resource);
  }

  async list(request: Uint8Array, context: CallContext, sink: MessageSink): Promise<void> {
    const query = readListRequest(request);
    checkNames(query, this.#nameLimits);
    this.#policy?.check("list", query, context);
    const slicer = new Slicer();
    // Many lists that are asked for at once do not all begin in one turn.
    const before = slicer.begin();
    if (before !== undefined) await before;
    const resources = await this.#state.list(query, query);
    for (const resource of resources) {
      const full = sink.send(this.#message(resource));
      if (full !== undefined) await full;
      const pause = slicer.step();
      if (pause !== undefined) await pause;
      if (context.cancelled) return;
    }
  }

  create(request: Uint8Array, context: CallContext): Uint8Array | Promise<Uint8Array> {
    const { draft: sent, owner } = readWriteRequest(request, 1);
    const draft = this.#accept("create", sent, context);
    const created = this.#state.createNow(draft, { owner });
    return created instanceof Promise ? created.then(messageOf) : created.message;
  }

  update(request: Uint8Array, context: CallContext): Uint8Array | Promise<Uint8Array> {
    const { draft: sent, owner, expectedPhase } = readWriteRequest(request, 2);
    const draft = this.#accept("update", sent, context);
    const options = expectedPhase === undefined ? { owner } : { owner, expectedPhase };
    try {
      const updated = this.#state.updateNow(draft, options);
      if (!(updated instanceof Promise)) return updated.message;
      return updated.then(messageOf, (error) => {
        throw asUpdateError(error);
      });
    } catch (error) {
      throw asUpdateError(error);
    }
  }

  #accept(verb: "create" | "update", sent: ResourceDraft, context: CallContext): ResourceDraft {
    checkDraft(sent, this.#nameLimits);
    const { metadata } = sent;
    const draft = sent.yamlSpec !== "" && this.#isDeclared(metadata.type)
      ? { ...sent, yamlSpec: "" }
      : sent;
    this.#policy?.check(verb, metadata, context, draft);
    return draft;
  }

  async destroy(request: Uint8Array, context: CallContext): Promise<Uint8Array> {
    const ref = this.#readRef(request);
    this.#policy?.check("destroy", ref, context);
    await this.#state.destroy(ref, ref);
    return EMPTY;
  }

  async teardown(request: Uint8Array, context: CallContext): Promise<Uint8Array> {
    const ref = this.#readRef(request);
    this.#policy?.check("teardown", ref, context);
    return await this.#state.teardown(ref, ref) ? READY_REPLY : EMPTY;
  }

  async teardownAndDestroy(request: Uint8Array, context: CallContext): Promise<Uint8Array> {
    const ref = this.#readRef(request);
    this.#policy?.check("teardown", ref, context);
    this.#policy?.check("destroy", ref, context);
    await this.#state.teardownAndDestroy(ref, { owner: ref.owner, signal: context.signal });
    return EMPTY;
  }

  async watch(request: Uint8Array, context: CallContext, sink: MessageSink): Promise<void> {
    const query = readWatchRequest(request);
    checkNames(query, this.#nameLimits);
    this.#policy?.check("watch", query, context);
    const release = this.#countWatch(context);
    try {
      const watcher = await this.#open(query);
      context.onCancel(() => watcher.close());
      // Clients wait for this message to know that the watch stands.
      void sink.send(EMPTY);
      await streamWatch({
        watcher,
        sink,
        aggregated: query.aggregated,
        encode: this.#encode,
        encodeParts: this.#encodeParts,
        queue: this.#ready,
        accepts: query.apiVersion > 0 ? () => true : isKnownToOldClients,
      });
    } finally {
      release();
    }
  }

  #open(query: WatchRequest): Promise<Watcher> | Watcher {
    const { id, tailEvents, startFromBookmark, labelQueries, idRegexp } = query;
    const start = {
      tailEvents,
      ...(startFromBookmark === undefined ? {} : { startFromBookmark }),
    };
    if (id === undefined) {
      const { bootstrapContents, bootstrapBookmark } = query;
      const selection = { labelQueries, idRegexp, bootstrapContents, bootstrapBookmark };
      return this.#state.openKindWatch(query, { ...start, ...selection });
    }
    if (query.bootstrapContents || labelQueries.length > 0 || idRegexp !== "") {
      throw new CodedError(
        "unimplemented",
        "Cannot watch one resource with a bootstrap or a query; watch its kind",
      );
    }
    return this.#state.openWatch({ ...query, id }, start);
  }

  /** Counts a watch of a connection; returns how to count it off. */
  #countWatch({ remoteAddress, remotePort }: CallContext): () => void {
    const key = `${remoteAddress} ${remotePort}`;
    const count = this.#watches.get(key) ?? 0;
    if (count >= this.#watchesPerConnection) {
      throw new CodedError(
        "resourceExhausted",
        `Cannot watch: the connection has ${count} watches, the limit; close some`,
      );
    }
    this.#watches.set(key, count + 1);
    return () => {
      const left = (this.#watches.get(key) ?? 1) - 1;
      if (left === 0) this.#watches.delete(key);
      else this.#watches.set(key, left);
    };
  }
}

function messageOf({ message }: RawResource): Uint8Array {
  return message;
}

/** Clients tell a wrong phase from a wrong version by this status, and only of an update. */
function asUpdateError(error: unknown): unknown {
  if (codeOf(error) !== "phaseConflict") return error;
  return new CodedError("invalidArgument", (error as CodedError).message, { cause: error });
}

/** Clients that name no API version know only these. */
function isKnownToOldClients({ type }: StateEvent): boolean {
  return type !== "bootstrapped" && type !== "errored";
}
