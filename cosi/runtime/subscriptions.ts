// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The kinds that a controller hears about, and what it makes of the news.
 *
 * @module
 */

import type { LogFields } from "../../base/log.ts";
import type { Controller } from "../controller.ts";
import type { Kind, ResourceType } from "../resource.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { StateEvent } from "../state/state.ts";
import type { Mapped } from "./declaration.ts";
import type { KindSubscriber } from "./kind_watch.ts";
import { isMaterial, itemOf, itemOfOutput, wakeByInput, type Wakes } from "./triggers.ts";

/** A kind and who hears about it. */
export interface Subscription {
  readonly kind: Kind;
  readonly subscriber: KindSubscriber;
}

/** What one kind is to a controller; it may be several things at once. */
interface Roles {
  readonly type: ResourceType;
  readonly isPrimary: boolean;
  readonly isOutput: boolean;
  readonly inputs: readonly Mapped[];
}

/** Called when a mapping of the controller threw. */
type OnBroken = (error: unknown, fields: LogFields) => void;

/** The subscriptions of a controller. */
export function subscriptionsOf(
  controller: Controller,
  wakes: Wakes,
  onBroken: OnBroken,
): readonly Subscription[] {
  return rolesOf(controller).map((roles) => ({
    kind: { namespace: roles.type.namespace, type: roles.type.type },
    subscriber: {
      onSnapshot: (resources, first) => onSnapshot(controller, roles, wakes, resources, first),
      onEvent: (event) => onEvent(controller, roles, wakes, event, onBroken),
    },
  }));
}

function onSnapshot(
  { name, output }: Controller,
  { isPrimary, isOutput, inputs }: Roles,
  wakes: Wakes,
  resources: readonly RawResource[],
  first: boolean,
): void {
  if (isPrimary) { for (const { metadata } of resources) wakes.item(metadata.id, !first); }
  if (isOutput) {
    // Among them are those whose primary went while nobody looked.
    for (const resource of resources) {
      const id = itemOf(output.primaryLabel, name, resource);
      if (id !== undefined) wakes.item(id, !first);
    }
  }
  // What vanished while the watch was lost is not in the snapshot: any item may be concerned.
  if (!first) wakes.everything();
  if (!inputs.some(({ held }) => held)) return;
  for (const { metadata: { id, finalizers } } of resources) {
    if (finalizers.includes(name)) wakes.item(id, !first);
  }
}

function onEvent(
  { name, output }: Controller,
  { isPrimary, isOutput, inputs }: Roles,
  wakes: Wakes,
  event: StateEvent,
  onBroken: OnBroken,
): void {
  if (isOutput) {
    const id = itemOfOutput(output, name, event);
    if (id !== undefined) wakes.item(id);
  }
  if (!isMaterial(event)) return;
  const { type, id, owner } = event.resource.metadata;
  if (isPrimary) wakes.item(id);
  // The controller's own output, read back: only it could have written this.
  if (isOutput && owner === name) return;
  for (const input of inputs) {
    try {
      wakeByInput(input, event, wakes);
    } catch (error) {
      onBroken(error, { type, id });
    }
  }
}

function rolesOf(controller: Controller): readonly Roles[] {
  const primary = controller.shape === "collector" ? undefined : controller.primary;
  const output = controller.output.type;
  const types = new Map<string, ResourceType>();
  for (const type of [primary, output, ...controller.mapped.map((input) => input.type)]) {
    if (type !== undefined) types.set(`${type.namespace}/${type.type}`, type);
  }
  return [...types.values()].map((type) => ({
    type,
    isPrimary: primary !== undefined && isSameKind(primary, type),
    isOutput: isSameKind(output, type),
    inputs: controller.mapped.filter((input) => isSameKind(input.type, type)),
  }));
}

function isSameKind(a: Kind, b: Kind): boolean {
  return a.type === b.type && a.namespace === b.namespace;
}
