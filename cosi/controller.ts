// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a controller is declared: inputs and outputs as data, decisions as one pure function.
 *
 * There are three shapes. A transform has `gather` and `plan`; an effect adds `act` and `finalize`;
 * a collector is driven by what an adapter observes. Queues, finalizers, retries and the writing of
 * differences belong to the engine in `cosi/runtime/`.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Resource, ResourceType } from "./resource.ts";
import type {
  CollectingController,
  DerivingController,
  IdsOf,
  Mapped,
} from "./runtime/declaration.ts";
import type { LabelTerm } from "./state/label_query.ts";

/** A resource that a controller wants to exist, without what the engine adds. */
export interface Desired<T extends ResourceType> {
  /** The whole spec: a field that is left out gets its default, not its stored value. */
  readonly spec: MessageInitShape<T["schema"]>;
  /** All labels; one that is stored but not named here is removed. */
  readonly labels?: Readonly<Record<string, string>>;
  /** All annotations; one that is stored but not named here is removed. */
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Nothing can be decided yet; what exists stays as it is. The reason is shown to users. */
export interface Wait {
  readonly kind: "wait";
  readonly reason: string;
  /** Looks again after this many milliseconds even if no input changes. */
  readonly retryAfterMs?: number;
}

/** The outputs must not exist; the effect is undone. */
export interface Destroy {
  readonly kind: "destroy";
  readonly reason: string;
}

interface WriteOptions<A> {
  /** The effect to carry out before the outputs are written; absent when there is no difference. */
  readonly action?: A;
  /** What the item still waits for although its outputs can be written; shown to users. */
  readonly waiting?: string;
  /** Looks again after this many milliseconds even if no input changes. */
  readonly retryAfterMs?: number;
}

/** The output must exist with this content. */
export interface Write<T extends ResourceType, A = never> extends Desired<T>, WriteOptions<A> {
  readonly kind: "write";
}

/** Exactly these outputs must exist, by ID; others that the same primary brought forth are removed. */
export interface WriteMany<T extends ResourceType, A = never> extends WriteOptions<A> {
  readonly kind: "write";
  readonly outputs: ReadonlyMap<string, Desired<T>>;
}

/** The decision of a controller with one output for each primary. */
export type Plan<T extends ResourceType, A = never> = Write<T, A> | Wait | Destroy;

/** The decision of a controller with any number of outputs for each primary. */
export type PlanMany<T extends ResourceType, A = never> = WriteMany<T, A> | Wait | Destroy;

/** Makes a {@linkcode Wait}. */
export function wait(reason: string, options: { readonly retryAfterMs?: number } = {}): Wait {
  return { kind: "wait", reason, ...options };
}

/**
 * A failure that another attempt cannot mend: the engine tries again only after an input of the item
 * changed.
 */
export class TerminalError extends Error {
  override readonly name = "TerminalError";
}

/** Which resources {@linkcode Reader.list} returns. */
export interface ListOptions {
  /** Labels that must have exactly these values; answered from an index. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Further conditions, all of which must hold. */
  readonly terms?: readonly LabelTerm[];
}

declare const readable: unique symbol;

/** Reads the declared inputs of a controller, and nothing else: an undeclared type does not compile. */
export interface Reader<in T extends ResourceType> {
  /** Makes the interface contravariant: who may read more can stand in for who needs less. */
  readonly [readable]?: (type: T) => void;
  /** The resource, or `undefined` when there is none. */
  find<U extends T>(type: U, id: string): Promise<Resource<U> | undefined>;
  /** The resource; throws `notFound` when there is none. */
  get<U extends T>(type: U, id: string): Promise<Resource<U>>;
  /** All resources of the type that match, sorted by ID. */
  list<U extends T>(type: U, options?: ListOptions): Promise<readonly Resource<U>[]>;
}

/** What bounds a call that leaves the engine. */
export interface CallOptions {
  /** Aborts when the call takes too long or the engine stops. */
  readonly signal: AbortSignal;
}

/** What `act` and `finalize` get besides the primary. */
export interface ActOptions<F> extends CallOptions {
  /** What `gather` returned in this run. */
  readonly facts: F;
}

/** The types that a list of mapped inputs makes readable. */
export type InputOf<M extends readonly Mapped[]> = M[number]["type"];

/** The primary of the same ID. */
export function sameId<T extends ResourceType>(type: T): Mapped<T> {
  return { type, rule: { kind: "sameId" }, held: false };
}

/** From children to their parent: the primary whose ID is the value of the input's label. */
export function byLabel<T extends ResourceType>(type: T, label: string): Mapped<T> {
  return { type, rule: { kind: "byLabel", label }, held: false };
}

/** Among siblings: all primaries that carry the label with the same value as the input. */
export function bySharedLabel<T extends ResourceType>(type: T, label: string): Mapped<T> {
  return { type, rule: { kind: "bySharedLabel", label }, held: false };
}

/** From a parent to its children: all primaries that carry the label with the input's ID. */
export function byPrimaryLabel<T extends ResourceType>(type: T, label: string): Mapped<T> {
  return { type, rule: { kind: "byPrimaryLabel", label }, held: false };
}

/** The primaries whose IDs a pure function reads off the input. */
export function mapped<T extends ResourceType>(
  type: T,
  ids: (resource: Resource<T>) => Iterable<string>,
): Mapped<T> {
  return { type, rule: { kind: "ids", ids: ids as IdsOf }, held: false };
}

/** Every primary: for the few inputs that concern all of them, such as a configuration. */
export function allOf<T extends ResourceType>(type: T): Mapped<T> {
  return { type, rule: { kind: "all" }, held: false };
}

/** No primary: the input is read, but its changes wake nobody. */
export function readOnly<T extends ResourceType>(type: T): Mapped<T> {
  return { type, rule: { kind: "none" }, held: false };
}

/**
 * Holds the input of the same ID by a finalizer, from before the first `act` or output until the
 * outputs are gone and `finalize` succeeded. When the input is torn down, the item is released as if
 * its primary were, unless the controller declares `plansTeardown`.
 */
export function held<T extends ResourceType>(type: T): Mapped<T> {
  return { type, rule: { kind: "sameId" }, held: true };
}

interface Declaration<
  P extends ResourceType,
  M extends readonly Mapped[],
  F,
> {
  /** Unique. Stored as owner and finalizer: a rename is a migration. */
  readonly name: string;
  /** The type whose every resource is one item of work. */
  readonly primary: P;
  /** Further inputs and which primaries they concern. */
  readonly mapped?: M;
  /** How many items may be in work at once, 16 by default; 1 for those that share something. */
  readonly concurrency?: number;
  /**
   * Whether the primary is held by a finalizer until its outputs are gone, true by default. False
   * suits a cheap status that may outlive its primary for a moment; not possible with `act`.
   */
  readonly keepsPrimary?: boolean;
  /**
   * Whether `plan` also decides about a primary, or a held input, that is tearing down; false by
   * default. `write` and `wait` then keep the outputs and the finalizer, `destroy` lets go.
   */
  readonly plansTeardown?: boolean;
  /** Bounds one call of `act` or `finalize`, in milliseconds; five minutes by default. */
  readonly actTimeoutMs?: number;
  /** Reads what `plan` needs. An absent input is a fact, not an error. */
  readonly gather?: (
    primary: Resource<P>,
    reader: Reader<P | InputOf<M>>,
    options: CallOptions,
  ) => Promise<F>;
  /**
   * Undoes `act`, after the outputs are gone. Idempotent. A returned {@linkcode Wait} keeps the
   * finalizer and is shown to users.
   */
  readonly finalize?: (
    primary: Resource<P>,
    options: ActOptions<F>,
  ) => Promise<void | Wait>;
}

/** What {@linkcode defineController} needs for one output a primary. */
export interface OneToOne<
  P extends ResourceType,
  M extends readonly Mapped[],
  O extends ResourceType,
  F,
  A,
> extends Declaration<P, M, F> {
  readonly output: O;
  readonly outputs?: never;
  /** The ID of the output; the primary's own when absent. */
  readonly outputId?: (primary: Resource<P>) => string;
  /** Decides. Pure: no I/O, no clock, no randomness; it never throws on what a user can write. */
  readonly plan: (primary: Resource<P>, facts: F) => Plan<O, A>;
  /**
   * Brings the action about. Idempotent. Fields that it returns take the place of those in the
   * plan's spec: values that only the outside can give, which later plans repeat from the output.
   */
  readonly act?: (
    primary: Resource<P>,
    action: A,
    options: ActOptions<F>,
  ) => Promise<void | Partial<MessageInitShape<O["schema"]>>>;
}

/** What {@linkcode defineController} needs for any number of outputs a primary. */
export interface OneToMany<
  P extends ResourceType,
  M extends readonly Mapped[],
  O extends ResourceType,
  F,
  A,
> extends Declaration<P, M, F> {
  readonly outputs: O;
  readonly output?: never;
  readonly outputId?: never;
  /**
   * The label that the engine puts on every output, with the primary's ID as its value, to find them
   * again; {@linkcode PRIMARY_LABEL} by default.
   */
  readonly primaryLabel?: string;
  /** Decides. Pure: no I/O, no clock, no randomness; it never throws on what a user can write. */
  readonly plan: (primary: Resource<P>, facts: F) => PlanMany<O, A>;
  /** Brings the action about. Idempotent. */
  readonly act?: (primary: Resource<P>, action: A, options: ActOptions<F>) => Promise<void>;
}

/** Names the primary on an output whose ID does not. Stored: a change is a migration. */
export const PRIMARY_LABEL = "batuta.altlinux.org/primary";

/** A declared controller; it holds no state, so that one declaration may be started many times. */
export type Controller = DerivingController | CollectingController;

/** How many items of a controller are in work at once unless it declares otherwise. */
export const DEFAULT_CONCURRENCY = 16;
const ACT_TIMEOUT_MS = 300_000;

/** Declares a transform, or an effect when there is `act` or `finalize`. */
export function defineController<
  P extends ResourceType,
  O extends ResourceType,
  F,
  A,
  const M extends readonly Mapped[] = readonly [],
>(declaration: OneToOne<P, M, O, F, A> | OneToMany<P, M, O, F, A>): Controller {
  const { output, outputId, outputs, primaryLabel, ...rest } = declaration as
    & Omit<OneToOne<P, M, O, F, A>, "output">
    & { output?: O; outputs?: O; primaryLabel?: string };
  const type = output ?? outputs;
  if (type === undefined) throw new TypeError(`Controller "${rest.name}" declares no output`);
  const stamped = outputs !== undefined || outputId !== undefined;
  const effect = rest.act !== undefined || rest.finalize !== undefined;
  if (effect && rest.keepsPrimary === false) {
    throw new TypeError(
      `Controller "${rest.name}" must keep its primary: it has an effect to undo`,
    );
  }
  return {
    ...rest,
    ...(outputId === undefined ? {} : { outputId }),
    shape: effect ? "effect" : "transform",
    mapped: rest.mapped ?? [],
    output: { type, primaryLabel: stamped ? primaryLabel ?? PRIMARY_LABEL : undefined },
    concurrency: rest.concurrency ?? DEFAULT_CONCURRENCY,
    keepsPrimary: rest.keepsPrimary ?? true,
    plansTeardown: rest.plansTeardown ?? false,
    actTimeoutMs: rest.actTimeoutMs ?? ACT_TIMEOUT_MS,
  } as DerivingController;
}
