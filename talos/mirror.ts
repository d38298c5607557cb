// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Follows the resources of a machine: what it is made of and what it is doing.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type {
  Event as WireEvent,
  Resource as WireResource,
  State,
} from "../proto/gen/cosi/resource_pb.ts";
import { EventType } from "../proto/gen/cosi/resource_pb.ts";
import type { Client } from "../rpc/client.ts";

/** A kind of resource on a machine. */
export interface MirroredKind {
  readonly namespace: string;
  readonly type: string;
}

/** A resource as the machine has it; both forms of the spec are the machine's own. */
export interface MirroredResource {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly protoSpec: Uint8Array;
  readonly yamlSpec: string;
}

/** News of a machine. */
export type MirrorEvent =
  /** All that exists of a kind; what was known before and is not in it is gone. */
  | {
    readonly kind: "snapshot";
    readonly of: MirroredKind;
    readonly resources: readonly MirroredResource[];
  }
  | { readonly kind: "put"; readonly resource: MirroredResource }
  | { readonly kind: "gone"; readonly of: MirroredKind; readonly id: string }
  /** The machine does not know this kind. */
  | { readonly kind: "absent"; readonly of: MirroredKind }
  /** Every kind has given its `snapshot` or `absent`. */
  | { readonly kind: "complete" };

type StateClient = Client<typeof State>;

const DEFINITIONS = { namespace: "meta", type: "ResourceDefinitions.meta.cosi.dev" } as const;

/** News that wait to be taken; a machine is not read on while there are more. */
const WAITING_EVENTS = 1_000;

/** Resources of one kind that a machine can have; what has more is no machine. */
const RESOURCES_OF_A_KIND = 10_000;

/**
 * Follows several kinds until the signal aborts. Every kind gives one `snapshot` or `absent` first;
 * after the last of them comes one `complete`.
 *
 * @throws CodedError of the first stream that ends: the caller opens all of them again, since the
 *   copies may be behind; `resourceExhausted` for a machine that lists without end.
 */
export async function* mirrorMachine(
  state: StateClient,
  kinds: readonly MirroredKind[],
  signal: AbortSignal,
): AsyncGenerator<readonly MirrorEvent[]> {
  const known = await registeredTypes(state, signal);
  const queue: MirrorEvent[] = [];
  const stop = new AbortController();
  const combined = AbortSignal.any([signal, stop.signal]);
  let wake = Promise.withResolvers<void>();
  let room = Promise.withResolvers<void>();
  let failure: unknown;
  let missing = kinds.length;
  const take = (): MirrorEvent[] => {
    room.resolve();
    room = Promise.withResolvers();
    return queue.splice(0);
  };
  const push = (event: MirrorEvent): Promise<void> | undefined => {
    queue.push(event);
    if (event.kind === "snapshot" || event.kind === "absent") missing -= 1;
    if (missing === 0 && event.kind !== "put" && event.kind !== "gone") {
      queue.push({ kind: "complete" });
    }
    wake.resolve();
    return queue.length < WAITING_EVENTS ? undefined : room.promise;
  };
  const follow = async (kind: MirroredKind): Promise<void> => {
    try {
      await followKind(state, kind, push, combined);
    } catch (error) {
      failure ??= error;
    }
    wake.resolve();
  };
  const tasks = kinds.map((kind) => {
    if (known.has(kind.type.toLowerCase())) return follow(kind);
    void push({ kind: "absent", of: kind });
    return Promise.resolve();
  });
  // A machine that knows none of the kinds has no stream whose end would be noticed.
  const onAbort = (): void => wake.resolve();
  signal.addEventListener("abort", onAbort);
  try {
    while (!signal.aborted) {
      if (queue.length > 0) yield take();
      else if (failure !== undefined) throw failure;
      else await wake.promise;
      wake = Promise.withResolvers<void>();
      if (queue.length > 0 || failure !== undefined) wake.resolve();
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop.abort();
    room.resolve();
    await Promise.all(tasks);
  }
}

/** The lower-case types that a machine has at all; it refuses to watch any other. */
async function registeredTypes(state: StateClient, signal: AbortSignal): Promise<Set<string>> {
  const types = new Set<string>();
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(30_000)]);
  for await (const { resource } of state.list(DEFINITIONS, { signal: timeout })) {
    const id = resource?.metadata?.id;
    if (id !== undefined) types.add(id);
    if (types.size > RESOURCES_OF_A_KIND) throw endless("types");
  }
  return types;
}

async function followKind(
  state: StateClient,
  kind: MirroredKind,
  push: (event: MirrorEvent) => Promise<void> | undefined,
  signal: AbortSignal,
): Promise<void> {
  const request = { ...kind, apiVersion: 1, options: { bootstrapContents: true } };
  let bootstrap: MirroredResource[] | undefined = [];
  for await (const { event: events } of state.watch(request, { signal })) {
    for (const event of events) {
      if (event.eventType === EventType.ERRORED) throw brokenWatch(kind, event);
      if (event.eventType === EventType.BOOTSTRAPPED) {
        await push({ kind: "snapshot", of: kind, resources: bootstrap ?? [] });
        bootstrap = undefined;
        continue;
      }
      const change = mirrorEvent(kind, event);
      if (change === undefined) continue;
      if (bootstrap === undefined) await push(change);
      else if (change.kind === "put") bootstrap.push(change.resource);
      if ((bootstrap?.length ?? 0) > RESOURCES_OF_A_KIND) throw endless(kind.type);
    }
  }
  if (!signal.aborted) throw new CodedError("unavailable", `Watch of ${kind.type} ended`);
}

function endless(what: string): CodedError {
  const rule = `more than ${RESOURCES_OF_A_KIND} resources`;
  return new CodedError("resourceExhausted", `Cannot follow the machine: ${what} has ${rule}`);
}

function brokenWatch(kind: MirroredKind, event: WireEvent): CodedError {
  return new CodedError(
    "unavailable",
    `Watch of ${kind.type} broke: ${event.error ?? "no reason"}`,
  );
}

function mirrorEvent(of: MirroredKind, event: WireEvent): MirrorEvent | undefined {
  const { resource } = event;
  if (resource?.metadata === undefined) return undefined;
  switch (event.eventType) {
    case EventType.CREATED:
    case EventType.UPDATED:
      return { kind: "put", resource: mirroredResource(resource) };
    case EventType.DESTROYED:
      return { kind: "gone", of, id: resource.metadata.id };
    default:
      return undefined;
  }
}

function mirroredResource({ metadata, spec }: WireResource): MirroredResource {
  return {
    namespace: metadata?.namespace ?? "",
    type: metadata?.type ?? "",
    id: metadata?.id ?? "",
    labels: metadata?.labels ?? {},
    protoSpec: spec?.protoSpec ?? new Uint8Array(),
    yamlSpec: spec?.yamlSpec ?? "",
  };
}
