// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writes of controllers: only differences, only what the controller owns, and finalizers.
 *
 * @module
 */

import { create, equals, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { CodedError, codeOf } from "../../base/errors.ts";
import type { Desired } from "../controller.ts";
import type { Metadata, ResourceType } from "../resource.ts";
import type { RawResource } from "../state/raw_resource.ts";
import { sameRecord } from "../state/same_record.ts";
import type { State } from "../state/state.ts";
import { staleIfConflict, StaleRead } from "./failures.ts";
import { findRaw } from "./state_reader.ts";

/** How often a finalizer edit that lost a race is repeated before the whole item is. */
const FINALIZER_ATTEMPTS = 10;

/** What {@linkcode StateWriter} needs. */
export interface WriterOptions {
  readonly state: State;
  /** The controller's name: owner of its outputs, finalizer on its inputs. */
  readonly name: string;
  readonly onWrite: () => void;
}

/** Writes on behalf of one controller. */
export class StateWriter {
  readonly #state: State;
  readonly #name: string;
  readonly #onWrite: () => void;

  constructor({ state, name, onWrite }: WriterOptions) {
    this.#state = state;
    this.#name = name;
    this.#onWrite = onWrite;
  }

  /** Creates or updates an output, unless it is already as desired. */
  async write(
    type: ResourceType,
    id: string,
    desired: Desired<ResourceType>,
    stored: RawResource | undefined,
  ): Promise<void> {
    const { labels = {}, annotations = {} } = desired;
    const spec = create(type.schema, desired.spec as MessageInitShape<typeof type.schema>);
    if (stored === undefined) {
      const metadata = newMetadata(type, id, this.#name, labels, annotations);
      const protoSpec = toBinary(type.schema, spec);
      await this.#attempt(() =>
        this.#state.create({ metadata, protoSpec, yamlSpec: "" }, { owner: this.#name })
      );
      return;
    }
    const { metadata } = stored;
    if (
      sameRecord(metadata.labels, labels) && sameRecord(metadata.annotations, annotations) &&
      equals(type.schema, stored.decode(type.schema), spec)
    ) return;
    await this.#attempt(() =>
      this.#state.update({
        metadata: { ...metadata, labels, annotations },
        protoSpec: toBinary(type.schema, spec),
        yamlSpec: "",
      }, { owner: this.#name, expectedPhase: "running" })
    );
  }

  /** Marks an output for removal and removes it when nobody holds it; true when it is gone. */
  async remove(stored: RawResource): Promise<boolean> {
    const { phase, finalizers } = stored.metadata;
    const owner = this.#name;
    try {
      if (phase === "running") {
        const ready = await this.#state.teardown(stored.metadata, { owner });
        this.#onWrite();
        if (!ready) return false;
      } else if (finalizers.length > 0) {
        return false;
      }
      await this.#state.destroy(stored.metadata, { owner });
      this.#onWrite();
      return true;
    } catch (error) {
      if (codeOf(error) === "notFound") return true;
      // A finalizer came in between: its removal wakes the item again.
      if (codeOf(error) === "conflict") return false;
      throw error;
    }
  }

  /** Puts the controller's finalizer on a running resource; fails as stale when it tears down. */
  async addFinalizer(stored: RawResource): Promise<void> {
    await this.#editFinalizers(stored, (current) => {
      if (current === undefined || current.metadata.phase !== "running") {
        throw new StaleRead(`Cannot hold "${stored.metadata.id}": it is being torn down`);
      }
      const { finalizers } = current.metadata;
      return finalizers.includes(this.#name) ? undefined : [...finalizers, this.#name];
    });
  }

  /** Takes the controller's finalizer off a resource, if it is there. */
  async removeFinalizer(stored: RawResource): Promise<void> {
    await this.#editFinalizers(stored, (current) => {
      const finalizers = current?.metadata.finalizers ?? [];
      return finalizers.includes(this.#name)
        ? finalizers.filter((finalizer) => finalizer !== this.#name)
        : undefined;
    });
  }

  async #editFinalizers(
    stored: RawResource,
    edit: (current: RawResource | undefined) => readonly string[] | undefined,
  ): Promise<void> {
    let current: RawResource | undefined = stored;
    for (let attempt = 0; attempt < FINALIZER_ATTEMPTS; attempt++) {
      const finalizers = edit(current);
      if (finalizers === undefined || current === undefined) return;
      const { metadata, protoSpec, yamlSpec }: RawResource = current;
      try {
        await this.#state.update(
          { metadata: { ...metadata, finalizers }, protoSpec, yamlSpec },
          { owner: metadata.owner, expectedPhase: metadata.phase },
        );
        this.#onWrite();
        return;
      } catch (error) {
        const code = codeOf(error);
        if (code !== "conflict" && code !== "phaseConflict" && code !== "notFound") throw error;
      }
      current = await findRaw(this.#state, metadata);
    }
    throw new StaleRead(`Cannot edit the finalizers of "${stored.metadata.id}": too many writers`);
  }

  async #attempt(write: () => Promise<unknown>): Promise<void> {
    try {
      await write();
    } catch (error) {
      throw staleIfConflict(error);
    }
    this.#onWrite();
  }
}

/** Refuses an output that somebody else owns. */
export function requireOwned(stored: RawResource, name: string): void {
  const { owner, type, id } = stored.metadata;
  if (owner === name) return;
  throw new CodedError(
    "ownerConflict",
    `Cannot write "${type}" "${id}": it belongs to ${owner === "" ? "a user" : `"${owner}"`}`,
  );
}

function newMetadata(
  type: ResourceType,
  id: string,
  owner: string,
  labels: Readonly<Record<string, string>>,
  annotations: Readonly<Record<string, string>>,
): Metadata {
  return {
    namespace: type.namespace,
    type: type.type,
    id,
    version: 0,
    owner,
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels,
    annotations,
  };
}
