// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Controllers that are driven by what an adapter observes.
 *
 * @module
 */

import {
  type CallOptions,
  type Controller,
  DEFAULT_CONCURRENCY,
  type InputOf,
  type Plan,
  type Reader,
} from "./controller.ts";
import type { ResourceType } from "./resource.ts";
import type { CollectingController, Mapped } from "./runtime/declaration.ts";

/** What an adapter saw. */
export type Observation<V> =
  | { readonly kind: "observed"; readonly id: string; readonly value: V }
  /** It is there no longer; its output is removed. */
  | { readonly kind: "gone"; readonly id: string }
  /** All that exists was told once since the stream began; outputs without an origin are removed. */
  | { readonly kind: "complete" };

/** What {@linkcode defineCollector} needs. */
export interface Collector<M extends readonly Mapped[], O extends ResourceType, F, V> {
  /** Unique. Stored as owner: a rename is a migration. */
  readonly name: string;
  /** Inputs and which observed IDs they concern. */
  readonly mapped?: M;
  readonly output: O;
  readonly concurrency?: number;
  /** The stream of an adapter; when it ends or fails, the engine opens it again after a back-off. */
  readonly observe: (options: CallOptions) => AsyncIterable<Observation<V>>;
  readonly gather?: (
    id: string,
    reader: Reader<InputOf<M>>,
    options: CallOptions,
  ) => Promise<F>;
  /** Decides from the last value that was observed for an ID. Pure. */
  readonly plan: (observed: { readonly id: string; readonly value: V }, facts: F) => Plan<O>;
}

/** Declares a collector. */
export function defineCollector<
  O extends ResourceType,
  F,
  V,
  const M extends readonly Mapped[] = readonly [],
>(declaration: Collector<M, O, F, V>): Controller {
  return {
    ...declaration,
    shape: "collector",
    mapped: declaration.mapped ?? [],
    output: { type: declaration.output, primaryLabel: undefined },
    concurrency: declaration.concurrency ?? DEFAULT_CONCURRENCY,
  } as CollectingController;
}
