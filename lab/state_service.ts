// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The read-only COSI state of a machine.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import { RE2JS } from "re2js";
import { CodedError } from "../base/errors.ts";
import {
  type Event,
  EventSchema,
  EventType,
  type LabelQuery,
  type LabelTerm,
  LabelTerm_Operation as Operation,
  MetadataSchema,
  type Resource,
  ResourceSchema,
  State,
  type WatchRequest,
} from "../proto/gen/cosi/resource_pb.ts";
import { type CallContext, implementService, type Service } from "../rpc/service.ts";
import type { Boot } from "./boot.ts";
import { findMachineKind, MACHINE_NAMESPACES, RESOURCE_DEFINITION } from "./kinds.ts";
import type { ResourceChange } from "./resource_store.ts";

/** Changes that may wait for one slow watcher. */
const MAX_PENDING = 1000;

/** Serves the resources of a boot. */
export function stateService(boot: Boot): Service {
  return implementService(State, {
    get: ({ namespace, type, id }) => {
      checkKind(boot, namespace, type);
      const resource = boot.resources.find(namespace, type, id);
      if (resource === undefined) {
        throw new CodedError("notFound", `resource ${type}(${namespace}/${id}) doesn't exist`);
      }
      return { resource };
    },
    list: async function* ({ namespace, type, options }) {
      checkKind(boot, namespace, type);
      const matches = filterOf(options?.labelQuery ?? [], options?.idQuery?.regexp);
      for (const resource of boot.resources.list(namespace, type)) {
        if (matches(resource)) yield await Promise.resolve({ resource });
      }
    },
    watch: (request, context) => watch(boot, request, context),
    create: refuseWrite,
    update: refuseWrite,
    destroy: refuseWrite,
    teardown: refuseWrite,
    teardownAndDestroy: refuseWrite,
  });
}

function refuseWrite(): never {
  throw new CodedError("permissionDenied", "write access denied");
}

function checkKind(boot: Boot, namespace: string, type: string): void {
  if (!MACHINE_NAMESPACES.has(namespace)) {
    throw new CodedError("permissionDenied", `namespace "${namespace}" is not supported`);
  }
  const isKnown = type === RESOURCE_DEFINITION ||
    findMachineKind(type, boot.version) !== undefined;
  if (!isKnown) {
    throw new CodedError("permissionDenied", `resource type "${type}" is not supported`);
  }
}

async function* watch(
  boot: Boot,
  request: WatchRequest,
  { signal }: CallContext,
): AsyncGenerator<{ event: Event[] }> {
  const { namespace, type, id, options } = request;
  checkKind(boot, namespace, type);
  if (id !== undefined && (options?.bootstrapContents || (options?.labelQuery.length ?? 0) > 0)) {
    throw new CodedError("unimplemented", "a watch of one resource takes no such options");
  }
  const matches = filterOf(options?.labelQuery ?? [], options?.idQuery?.regexp);
  const isWanted = (resource: Resource): boolean =>
    (id === undefined || resource.metadata?.id === id) && matches(resource);
  const bookmark = (position: number): Uint8Array => bookmarkOf(boot.id, position);
  const pending = firstEvents(boot, request, isWanted, bookmark);
  let wake: (() => void) | undefined;
  let isOverrun = false;
  const unsubscribe = boot.resources.subscribe(namespace, type, (change) => {
    if (!isWanted(change.resource)) return;
    if (pending.length >= MAX_PENDING) isOverrun = true;
    else pending.push(changeEvent(change, bookmark(change.position)));
    wake?.();
  });
  const ended = AbortSignal.any([signal, boot.signal]);
  const onEnd = (): void => wake?.();
  ended.addEventListener("abort", onEnd, { once: true });
  try {
    yield { event: [] };
    while (!ended.aborted) {
      if (isOverrun) {
        yield {
          event: [create(EventSchema, { eventType: EventType.ERRORED, error: "buffer overrun" })],
        };
        return;
      }
      const events = pending.splice(0);
      if (events.length > 0 && options?.aggregated) yield { event: events };
      else for (const event of events) yield { event: [event] };
      if (pending.length === 0 && !isOverrun && !ended.aborted) {
        await new Promise<void>((resolve) => wake = resolve);
      }
    }
  } finally {
    unsubscribe();
    ended.removeEventListener("abort", onEnd);
  }
}

/** What a watcher is told before anything changes. */
function firstEvents(
  { id: bootId, resources }: Boot,
  { namespace, type, id, options, apiVersion }: WatchRequest,
  isWanted: (resource: Resource) => boolean,
  bookmark: (position: number) => Uint8Array,
): Event[] {
  const from = options?.startFromBookmark;
  const tail = options?.tailEvents ?? 0;
  if (from !== undefined) {
    const position = readBookmark(bootId, from);
    const history = resources.history(namespace, type);
    return history.filter((change) => change.position > position && isWanted(change.resource))
      .map((change) => changeEvent(change, bookmark(change.position)));
  }
  if (tail > 0) {
    return resources.history(namespace, type).filter(({ resource }) => isWanted(resource))
      .slice(-tail).map((change) => changeEvent(change, bookmark(change.position)));
  }
  if (id !== undefined) {
    const resource = resources.find(namespace, type, id);
    return [
      resource === undefined
        ? tombstone(EventType.DESTROYED, namespace, type, id, undefined)
        : create(EventSchema, { eventType: EventType.CREATED, resource }),
    ];
  }
  const events: Event[] = [];
  const here = bookmark(resources.position());
  if (options?.bootstrapContents) {
    for (const resource of resources.list(namespace, type)) {
      if (isWanted(resource)) {
        events.push(create(EventSchema, { eventType: EventType.CREATED, resource }));
      }
    }
    // Clients of the first version of the protocol do not know this event.
    if (apiVersion > 0) events.push(tombstone(EventType.BOOTSTRAPPED, namespace, type, "", here));
  }
  if (options?.bootstrapBookmark) events.push(tombstone(EventType.NOOP, namespace, type, "", here));
  return events;
}

function changeEvent({ kind, resource, old }: ResourceChange, bookmark: Uint8Array): Event {
  const eventType = kind === "created"
    ? EventType.CREATED
    : kind === "updated"
    ? EventType.UPDATED
    : EventType.DESTROYED;
  return create(EventSchema, {
    eventType,
    resource,
    bookmark,
    ...(old === undefined ? {} : { old }),
  });
}

function tombstone(
  eventType: EventType,
  namespace: string,
  type: string,
  id: string,
  bookmark: Uint8Array | undefined,
): Event {
  return create(EventSchema, {
    eventType,
    resource: create(ResourceSchema, {
      metadata: create(MetadataSchema, {
        namespace,
        type,
        id,
        version: "undefined",
        phase: "running",
      }),
      spec: {},
    }),
    ...(bookmark === undefined ? {} : { bookmark }),
  });
}

/** Eight bytes that are the boot's own, then a position. */
function bookmarkOf(bootId: string, position: number): Uint8Array {
  const bytes = new Uint8Array(16);
  bytes.set(Uint8Array.fromHex(bootId.replaceAll("-", "").slice(0, 16)));
  new DataView(bytes.buffer).setBigUint64(8, BigInt(position));
  return bytes;
}

function readBookmark(bootId: string, bytes: Uint8Array): number {
  const own = bookmarkOf(bootId, 0);
  if (bytes.length !== 16 || !bytes.subarray(0, 8).every((byte, index) => byte === own[index])) {
    throw new CodedError("failedPrecondition", "invalid bookmark");
  }
  return Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(8));
}

function filterOf(
  queries: readonly LabelQuery[],
  regexp: string | undefined,
): (resource: Resource) => boolean {
  const pattern = regexp === undefined || regexp === "" ? undefined : compile(regexp);
  return ({ metadata }) => {
    if (pattern !== undefined && !pattern.matcher(metadata?.id ?? "").find()) return false;
    const labels = metadata?.labels ?? {};
    return queries.length === 0 ||
      queries.some(({ terms }) => terms.every((term) => termHolds(term, labels)));
  };
}

function compile(regexp: string): RE2JS {
  try {
    return RE2JS.compile(regexp);
  } catch (cause) {
    throw new CodedError("invalidArgument", "Cannot read ID query: malformed expression", {
      cause,
    });
  }
}

function termHolds(
  { key, op, value, invert }: LabelTerm,
  labels: Readonly<Record<string, string>>,
): boolean {
  const label = labels[key];
  const holds = (): boolean => {
    switch (op) {
      case Operation.EXISTS:
        return label !== undefined;
      case Operation.NOT_EXISTS:
        return label === undefined;
      case Operation.EQUAL:
        return label !== undefined && label === value[0];
      case Operation.IN:
        return label !== undefined && value.includes(label);
      default:
        throw new CodedError("unimplemented", `label operation ${op} is not implemented`);
    }
  };
  return holds() !== invert;
}
