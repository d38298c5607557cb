// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * From a change of the state to the items that must look at it.
 *
 * @module
 */

import type { RawResource } from "../state/raw_resource.ts";
import { sameRecord } from "../state/same_record.ts";
import type { StateEvent } from "../state/state.ts";
import type { Mapped, OutputDeclaration } from "./declaration.ts";
import { decoded } from "./state_reader.ts";

/** What a change means: items by ID, or a question to the label index of the primaries. */
export interface Wakes {
  /** `later` lets all others go first. */
  item(id: string, later?: boolean): void;
  /** All primaries that carry the label with this value. */
  labelled(label: string, value: string): void;
  everything(): void;
}

/**
 * Whether a change can matter to a plan. Finalizers come and go with every controller that holds a
 * resource; while it is running they concern nobody else.
 */
export function isMaterial({ type, resource, old }: StateEvent): boolean {
  if (type !== "updated" || old === undefined) return true;
  const { metadata: after } = resource;
  const { metadata: before } = old;
  if (after.phase !== "running" || before.phase !== "running") return true;
  return !isSameBytes(resource.protoSpec, old.protoSpec) || resource.yamlSpec !== old.yamlSpec ||
    after.owner !== before.owner || !sameRecord(after.labels, before.labels) ||
    !sameRecord(after.annotations, before.annotations);
}

/** Wakes the items that a changed input concerns, by its present and its former content. */
export function wakeByInput({ type, rule }: Mapped, event: StateEvent, wakes: Wakes): void {
  const versions = event.old === undefined ? [event.resource] : [event.resource, event.old];
  for (const { metadata } of versions) {
    switch (rule.kind) {
      case "sameId":
        wakes.item(metadata.id);
        break;
      case "byLabel": {
        const id = metadata.labels[rule.label];
        if (id !== undefined) wakes.item(id);
        break;
      }
      case "bySharedLabel": {
        const value = metadata.labels[rule.label];
        if (value !== undefined) wakes.labelled(rule.label, value);
        break;
      }
      case "byPrimaryLabel":
        wakes.labelled(rule.label, metadata.id);
        break;
      case "all":
        wakes.everything();
        break;
      case "none":
      case "ids":
        break;
    }
  }
  if (rule.kind !== "ids") return;
  for (const version of versions) {
    for (const id of rule.ids(decoded(type, version))) wakes.item(id);
  }
}

/**
 * The item that an output of the controller belongs to, if its change is news: the controller's own
 * writes are none, but somebody's teardown, a finalizer that went, and a removal are.
 */
export function itemOfOutput(
  { primaryLabel }: OutputDeclaration,
  name: string,
  { type, resource }: StateEvent,
): string | undefined {
  const { metadata } = resource;
  if (type !== "destroyed" && metadata.phase === "running") return undefined;
  return itemOf(primaryLabel, name, resource);
}

/** The item that brought an output forth; `undefined` when the controller does not own it. */
export function itemOf(
  primaryLabel: string | undefined,
  name: string,
  { metadata }: RawResource,
): string | undefined {
  if (metadata.owner !== name) return undefined;
  return primaryLabel === undefined ? metadata.id : metadata.labels[primaryLabel];
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
