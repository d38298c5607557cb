// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The outputs that one item of a controller brought forth: found, written, removed.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import type { Desired } from "../controller.ts";
import { refOf, type ResourceType } from "../resource.ts";
import type { RawResource } from "../state/raw_resource.ts";
import type { State } from "../state/state.ts";
import type { OutputDeclaration } from "./declaration.ts";
import { findRaw, labelEquals } from "./state_reader.ts";
import { requireOwned, type StateWriter } from "./state_writer.ts";

/** What {@linkcode Outputs} needs. */
export interface OutputsOptions {
  readonly state: State;
  readonly writer: StateWriter;
  /** The controller's name. */
  readonly name: string;
  readonly declaration: OutputDeclaration;
  readonly onRead: () => void;
}

/** The stored outputs of one item by ID. */
export type StoredOutputs = ReadonlyMap<string, RawResource>;

const NONE: ReadonlySet<string> = new Set();

/** Outputs of one controller. */
export class Outputs {
  readonly #options: OutputsOptions;

  constructor(options: OutputsOptions) {
    this.#options = options;
  }

  /** Reads the outputs that the item owns. */
  async of(itemId: string): Promise<StoredOutputs> {
    const { state, name, declaration: { type, primaryLabel }, onRead } = this.#options;
    onRead();
    if (primaryLabel === undefined) {
      const stored = await findRaw(state, refOf(type, itemId));
      return stored?.metadata.owner === name ? new Map([[itemId, stored]]) : new Map();
    }
    const labelQueries = [{ terms: [labelEquals(primaryLabel, itemId)] }];
    const all = await state.list(type, { labelQueries });
    return new Map(
      all.filter(({ metadata }) => metadata.owner === name).map((raw) => [raw.metadata.id, raw]),
    );
  }

  /**
   * Removes those that are not desired, and those that are torn down so that they can be rebuilt.
   * Returns the ones that are still held by finalizers.
   */
  async clear(
    stored: StoredOutputs,
    desired: ReadonlySet<string>,
  ): Promise<readonly RawResource[]> {
    const remaining: RawResource[] = [];
    for (const [id, output] of stored) {
      if (desired.has(id) && output.metadata.phase === "running") continue;
      if (!await this.#options.writer.remove(output)) remaining.push(output);
    }
    return remaining;
  }

  /** Removes all outputs of the item; returns the ones that are still held by finalizers. */
  async removeAll(itemId: string): Promise<readonly RawResource[]> {
    return await this.clear(await this.of(itemId), NONE);
  }

  /** Writes a desired output, `stored` being what was there; only what is running is updated. */
  async write(
    itemId: string,
    id: string,
    desired: Desired<ResourceType>,
    stored: RawResource | undefined,
  ): Promise<void> {
    const { writer, declaration: { type, primaryLabel } } = this.#options;
    const running = stored?.metadata.phase === "running" ? stored : undefined;
    if (running === undefined) await this.#requireFree(itemId, id);
    const labels = primaryLabel === undefined
      ? desired.labels ?? {}
      : { ...desired.labels, [primaryLabel]: itemId };
    await writer.write(type, id, { ...desired, labels }, running);
  }

  /** Refuses an ID that a user, another controller or another item of this controller has taken. */
  async #requireFree(itemId: string, id: string): Promise<void> {
    const { state, name, declaration: { type, primaryLabel }, onRead } = this.#options;
    onRead();
    const present = await findRaw(state, refOf(type, id));
    if (present === undefined) return;
    requireOwned(present, name);
    const holder = primaryLabel === undefined ? itemId : present.metadata.labels[primaryLabel];
    if (holder === itemId) return; // Just destroyed or just created: the write will tell.
    throw new CodedError(
      "alreadyExists",
      `Cannot write "${type.type}" "${id}" for "${itemId}": it was written for "${holder}"`,
    );
  }
}
