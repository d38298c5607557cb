// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Why a resource is not where it should be, and what stands in the way.
 *
 * The server shows what its controllers wait for and what they read and write. From a resource the
 * walk goes up to what it is made of while something is missing, and down to what is made of it
 * while something waits.
 *
 * @module
 */

import { fromBinary } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { codeOf } from "../base/errors.ts";
import type { Kind, Ref } from "../cosi/resource.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
import type { State } from "../cosi/state/state.ts";
import type { ControllerSpec, ControllerWaitSpec } from "../proto/gen/batuta/engine_pb.ts";
import { Controller } from "../resources/system/controller.ts";
import { ControllerWait } from "../resources/system/controller_wait.ts";

/** One statement about a resource, with what it rests on below it. */
export interface Explanation {
  readonly text: string;
  readonly because: readonly Explanation[];
  /** Whether there is nothing to explain: it exists and nothing waits for it. */
  readonly isAtRest?: boolean;
}

/** What an explanation reads. */
export type ExplainedState = Pick<State, "get" | "list">;

/** Steps from the resource that was asked for; a chain of the system has no more. */
const MAX_DEPTH = 12;
/** Dependents shown of each kind. */
const MAX_DEPENDENTS = 20;

/** Explains one resource. */
export async function explain(
  state: ExplainedState,
  ref: Ref,
  nowMs: number,
): Promise<Explanation> {
  const controllers = await state.list(Controller);
  const waits = await state.list(ControllerWait);
  const walk = new Walk(
    state,
    new Map(
      controllers.map((raw) => [raw.metadata.id, fromBinary(Controller.schema, raw.protoSpec)]),
    ),
    waits.map((raw) => fromBinary(ControllerWait.schema, raw.protoSpec)),
    nowMs,
  );
  return await walk.resource(ref, MAX_DEPTH);
}

/** The text of an explanation: a tree, then the ends of its branches. */
export function renderExplanation(explanation: Explanation): string {
  const lines: string[] = [];
  const ends = new Set<string>();
  const visit = ({ text, because, isAtRest = false }: Explanation, depth: number): void => {
    lines.push(`${"  ".repeat(depth)}${text}`);
    if (because.length === 0 && !isAtRest) ends.add(text);
    for (const reason of because) visit(reason, depth + 1);
  };
  visit(explanation, 0);
  if (ends.size === 0) return `${lines.join("\n")}\nNothing waits for anything.\n`;
  const inTheWay = [...ends].map((text) => `  ${text}`);
  return `${lines.join("\n")}\nIn the way:\n${inTheWay.join("\n")}\n`;
}

class Walk {
  readonly #state: ExplainedState;
  readonly #controllers: ReadonlyMap<string, ControllerSpec>;
  readonly #waits = new Map<string, ControllerWaitSpec[]>();
  readonly #nowMs: number;
  readonly #visited = new Set<string>();

  constructor(
    state: ExplainedState,
    controllers: ReadonlyMap<string, ControllerSpec>,
    waits: readonly ControllerWaitSpec[],
    nowMs: number,
  ) {
    this.#state = state;
    this.#controllers = controllers;
    this.#nowMs = nowMs;
    for (const wait of waits) {
      const key = `${wait.itemType}/${wait.itemId}`;
      const others = this.#waits.get(key);
      if (others === undefined) this.#waits.set(key, [wait]);
      else others.push(wait);
    }
  }

  async resource(ref: Ref, depth: number): Promise<Explanation> {
    const name = `${ref.type} "${ref.id}"`;
    const key = `${ref.namespace}/${ref.type}/${ref.id}`;
    const stored = await this.#find(ref);
    const text = stored === undefined ? `${name} does not exist` : `${name} ${stateOf(stored)}`;
    // What was said of it stands further up.
    if (this.#visited.has(key)) return { text, because: [], isAtRest: true };
    if (depth === 0) return { text, because: [] };
    this.#visited.add(key);
    if (stored === undefined) {
      const because = await this.#whyMissing(ref, depth - 1);
      const made = because.length === 0 ? ", and no controller makes it" : "";
      return { text: `${text}${made}`, because };
    }
    const because = [
      ...await this.#whyHere(stored, depth - 1),
      ...await this.#dependents(stored, depth - 1),
    ];
    return { text, because, isAtRest: because.length === 0 };
  }

  /** Who writes the resource, and what of. */
  async #whyMissing(ref: Ref, depth: number): Promise<Explanation[]> {
    const reasons: Explanation[] = [];
    for (const [name, { primary, output, primaryLabel }] of this.#controllers) {
      if (!isKind(output, ref)) continue;
      if (primary === undefined) {
        reasons.push({ text: `${name} writes it, but has not observed it`, because: [] });
      } else if (primaryLabel === "") {
        const { namespace, type } = primary;
        const declined = this.#waits.get(`${type}/${ref.id}`)?.find(({ controller, state }) =>
          controller === name && state === "declined"
        );
        const origin = declined === undefined
          ? await this.resource({ namespace, type, id: ref.id }, depth)
          : { text: this.#describe(declined), because: [] };
        const text = `${name} writes it for the ${type} of the same ID`;
        reasons.push({ text, because: [origin] });
      } else {
        const waits = [...this.#waits.values()].flat().filter(({ controller }) =>
          controller === name
        );
        const because = waits.slice(0, MAX_DEPENDENTS).map((wait) => ({
          text: `${wait.itemType} "${wait.itemId}": ${this.#describe(wait)}`,
          because: [],
        }));
        reasons.push({ text: `${name} writes it for a ${primary.type}`, because });
      }
    }
    return reasons;
  }

  /** What controllers wait for at a resource that exists. */
  async #whyHere(stored: RawResource, depth: number): Promise<Explanation[]> {
    const { type, id, phase, finalizers } = stored.metadata;
    // What a controller declines is where it should be.
    const waits = (this.#waits.get(`${type}/${id}`) ?? []).filter(({ state }) =>
      state !== "declined"
    );
    const reasons: Explanation[] = [];
    for (const wait of waits) {
      const blockers = wait.blockers.map(({ namespace, type, id }) => ({ namespace, type, id }));
      const refs = [...blockers, ...await this.#missingInputs(wait.controller, stored)];
      const because: Explanation[] = [];
      for (const ref of refs) because.push(await this.resource(ref, depth));
      reasons.push({ text: this.#describe(wait), because });
    }
    if (phase !== "tearingDown") return reasons;
    for (const finalizer of finalizers) {
      if (waits.some(({ controller }) => controller === finalizer)) continue;
      const text = this.#controllers.has(finalizer)
        ? `${finalizer} holds it and is about to let go`
        : `${finalizer} holds it, which is no controller of this server`;
      reasons.push({ text, because: [] });
    }
    return reasons;
  }

  /** Inputs whose ID is known and that do not exist. */
  async #missingInputs(controller: string, primary: RawResource): Promise<Ref[]> {
    const { id, labels } = primary.metadata;
    const output = this.#controllers.get(controller)?.output;
    const missing: Ref[] = [];
    for (const { kind, rule, label } of this.#controllers.get(controller)?.inputs ?? []) {
      const inputId = rule === "sameId"
        ? id
        : rule === "byPrimaryLabel"
        ? labels[label]
        : undefined;
      if (kind === undefined || inputId === undefined) continue;
      // The controller's own output, read back, is missing because of this very wait.
      if (output?.type === kind.type) continue;
      const ref = { namespace: kind.namespace, type: kind.type, id: inputId };
      if (await this.#find(ref) === undefined) missing.push(ref);
    }
    return missing;
  }

  /** What is made of a resource, or counts for it, as far as something there waits. */
  async #dependents(stored: RawResource, depth: number): Promise<Explanation[]> {
    const { id } = stored.metadata;
    const found: Explanation[] = [];
    for (const { primary, output, primaryLabel, inputs } of this.#controllers.values()) {
      if (!isKind(primary, stored.metadata)) continue;
      if (output !== undefined) {
        found.push(...await this.#waiting(output, primaryLabel, id, depth));
      }
      for (const { kind, rule, label } of inputs) {
        if (kind === undefined || rule !== "byLabel") continue;
        found.push(...await this.#waiting(kind, label, id, depth));
      }
    }
    return found;
  }

  async #waiting(kind: Kind, label: string, id: string, depth: number): Promise<Explanation[]> {
    const { namespace, type } = kind;
    const ids = label === "" ? [id] : await this.#labelled(kind, label, id);
    const found: Explanation[] = [];
    for (const each of ids) {
      if (found.length === MAX_DEPENDENTS) break;
      if (this.#visited.has(`${namespace}/${type}/${each}`)) continue;
      const stored = await this.#find({ namespace, type, id: each });
      if (stored === undefined) continue;
      const explanation = await this.resource({ namespace, type, id: each }, depth);
      // What has come to rest explains nothing.
      if (explanation.because.length > 0) found.push(explanation);
    }
    return found;
  }

  #describe({ controller, state, reason, attempts, since }: ControllerWaitSpec): string {
    const ago = since === undefined ? "" : ` for ${age(this.#nowMs - timestampMs(since))}`;
    switch (state) {
      case "stopped":
        return `${controller} gave up${ago} until an input changes: ${reason}`;
      case "declined":
        return `${controller} makes nothing of it: ${reason}`;
      case "acting":
        return `${controller} has been at work${ago}: ${reason}`;
      case "failing":
        return `${controller} has failed${ago}, ${attempts} attempts: ${reason}`;
      default:
        return `${controller} has waited${ago}: ${reason}`;
    }
  }

  async #labelled({ namespace, type }: Kind, label: string, value: string): Promise<string[]> {
    const terms = [{ key: label, op: "equal" as const, values: [value], invert: false }];
    try {
      const all = await this.#state.list({ namespace, type }, { labelQueries: [{ terms }] });
      return all.map(({ metadata }) => metadata.id);
    } catch (error) {
      if (isHidden(error)) return [];
      throw error;
    }
  }

  async #find(ref: Ref): Promise<RawResource | undefined> {
    try {
      return await this.#state.get(ref);
    } catch (error) {
      if (codeOf(error) === "notFound" || isHidden(error)) return undefined;
      throw error;
    }
  }
}

/** What the server does not show to clients cannot be told from what is not there. */
function isHidden(error: unknown): boolean {
  const code = codeOf(error);
  // A refusal of a write is an owner conflict to clients; some servers answer reads alike.
  return code === "permissionDenied" || code === "ownerConflict";
}

function stateOf({ metadata: { phase, owner, version, finalizers } }: RawResource): string {
  const writer = owner === "" ? "" : `, written by ${owner}`;
  if (phase === "running") return `exists (version ${version}${writer})`;
  const holders = finalizers.length === 0 ? "nobody" : finalizers.join(", ");
  return `is being removed (held by ${holders}${writer})`;
}

function isKind(kind: Kind | undefined, other: Kind): boolean {
  return kind?.type === other.type && kind.namespace === other.namespace;
}

/** A duration in its largest unit. */
function age(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
