// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Declared controllers with their TypeScript types erased: what the engine runs and the graph shows.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Observation } from "../collector.ts";
import type { ActOptions, CallOptions, Plan, PlanMany, Reader, Wait } from "../controller.ts";
import type { Resource, ResourceType } from "../resource.ts";

/** Reads IDs of primaries off a changed input. */
export type IdsOf = (resource: Resource<ResourceType>) => Iterable<string>;

/** How the IDs of primaries follow from a changed input. */
export type MappingRule =
  | { readonly kind: "sameId" }
  | { readonly kind: "byLabel"; readonly label: string }
  | { readonly kind: "bySharedLabel"; readonly label: string }
  | { readonly kind: "byPrimaryLabel"; readonly label: string }
  | { readonly kind: "all" }
  | { readonly kind: "none" }
  | { readonly kind: "ids"; readonly ids: IdsOf };

/** A declared input beside the primary. */
export interface Mapped<out T extends ResourceType = ResourceType> {
  readonly type: T;
  readonly rule: MappingRule;
  /** Whether the engine keeps the input alive by a finalizer while the primary depends on it. */
  readonly held: boolean;
}

/** A declared output. */
export interface OutputDeclaration {
  readonly type: ResourceType;
  /** The label that names the primary; absent where the ID does. */
  readonly primaryLabel: string | undefined;
}

/** A controller on primaries, its types erased: what the engine runs. */
export interface DerivingController {
  readonly shape: "transform" | "effect";
  readonly name: string;
  readonly primary: ResourceType;
  readonly mapped: readonly Mapped[];
  readonly output: OutputDeclaration;
  readonly concurrency: number;
  readonly keepsPrimary: boolean;
  readonly plansTeardown: boolean;
  readonly actTimeoutMs: number;
  outputId?(primary: Resource<ResourceType>): string;
  gather?(
    primary: Resource<ResourceType>,
    reader: Reader<ResourceType>,
    options: CallOptions,
  ): Promise<unknown>;
  plan(
    primary: Resource<ResourceType>,
    facts: unknown,
  ): Plan<ResourceType, unknown> | PlanMany<ResourceType, unknown>;
  act?(
    primary: Resource<ResourceType>,
    action: unknown,
    options: ActOptions<unknown>,
  ): Promise<void | Partial<MessageInitShape<ResourceType["schema"]>>>;
  finalize?(
    primary: Resource<ResourceType>,
    options: ActOptions<unknown>,
  ): Promise<void | Wait>;
}

/** A controller on observations, its types erased: what the engine runs. */
export interface CollectingController {
  readonly shape: "collector";
  readonly name: string;
  readonly mapped: readonly Mapped[];
  readonly output: OutputDeclaration;
  readonly concurrency: number;
  observe(options: CallOptions): AsyncIterable<Observation<unknown>>;
  gather?(id: string, reader: Reader<ResourceType>, options: CallOptions): Promise<unknown>;
  plan(
    observed: { readonly id: string; readonly value: unknown },
    facts: unknown,
  ): Plan<ResourceType>;
}
