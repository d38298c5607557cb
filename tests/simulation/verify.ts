// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a simulated state must be once it has come to rest, computed from its inputs alone.
 *
 * @module
 */

import type { RawResource } from "../../cosi/state/raw_resource.ts";
import type { StateCore } from "../../cosi/state/core.ts";
import type { ResourceType, SpecOf } from "../../cosi/resource.ts";
import {
  Cheap,
  Derived,
  Extra,
  GROUP,
  Group,
  GroupStatus,
  lettersOf,
  NAMES,
  Part,
  Port,
  Seen,
  Source,
  Target,
} from "./controllers.ts";
import type { World } from "./world.ts";

/** All differences between what is and what should be. */
export async function findDifferences(world: World): Promise<string[]> {
  const { state, device, runtime } = world;
  const sources = await listOf(state, Source);
  const extras = new Map((await listOf(state, Extra)).map((each) => [each.id, each]));
  const groups = await listOf(state, Group);
  const expected = expectOutputs(sources, extras);
  const problems: string[] = [];
  const compare = async (type: ResourceType, wanted: ReadonlyMap<string, string>) => {
    problems.push(...differences(type.type, wanted, await contentOf(state, type)));
  };
  await compare(Target, expected.targets);
  await compare(Derived, expected.targets);
  await compare(Seen, expected.targets);
  await compare(Part, expected.parts);
  await compare(Cheap, expected.cheap);
  await compare(GroupStatus, expectGroups(sources, groups));
  problems.push(...differences("device", expected.targets, device.values));
  problems.push(...await portProblems(state, sources));
  problems.push(...stuck(sources, [...extras.values()], groups, expected.parts));
  for (const { controller, id, state, reason } of runtime?.waits.list() ?? []) {
    if (state !== "waiting" && state !== "declined") {
      problems.push(`${controller} ${id} is ${state}: ${reason}`);
    }
  }
  return problems;
}

interface Stored<T extends ResourceType> {
  readonly id: string;
  readonly raw: RawResource;
  readonly spec: SpecOf<T>;
}

async function listOf<T extends ResourceType>(
  state: StateCore,
  type: T,
): Promise<readonly Stored<T>[]> {
  const all = await state.list(type);
  return all.map((raw) => ({
    id: raw.metadata.id,
    raw,
    spec: raw.decode(type.schema) as SpecOf<T>,
  }));
}

function expectOutputs(
  sources: readonly Stored<typeof Source>[],
  extras: ReadonlyMap<string, Stored<typeof Extra>>,
): Record<"targets" | "parts" | "cheap", Map<string, string>> {
  const targets = new Map<string, string>();
  const parts = new Map<string, string>();
  const addresses = new Map(sources.map(({ id, spec }) => [id, spec.managementAddress]));
  const cheap = new Map(
    [...extras.values()].map(({ id, spec }) => [id, `${addresses.get(id)} ${spec.lastEndpoint}`]),
  );
  for (const { id, spec } of sources) {
    if (spec.managementAddress !== "") targets.set(id, spec.managementAddress);
    const extra = extras.get(id);
    if (extra === undefined) continue;
    for (const letter of lettersOf(spec.managementAddress)) {
      parts.set(`${id}-${letter}`, `${letter}${extra.spec.lastEndpoint}`);
    }
  }
  return { targets, parts, cheap };
}

function expectGroups(
  sources: readonly Stored<typeof Source>[],
  groups: readonly Stored<typeof Group>[],
): Map<string, string> {
  return new Map(groups.map(({ id, raw }) => {
    const count = sources.filter(({ raw }) => raw.metadata.labels[GROUP] === id).length;
    return [id, `${raw.metadata.phase} ${count}`];
  }));
}

/** The one field that the controllers fill, by ID; the phase too where it is not running. */
async function contentOf(state: StateCore, type: ResourceType): Promise<Map<string, string>> {
  const content = new Map<string, string>();
  for (const { id, raw, spec } of await listOf(state, type)) {
    const fields: Readonly<Record<string, unknown>> = { ...spec };
    const text = `${fields["linkId"] ?? fields["backendVersion"]}`;
    content.set(id, raw.metadata.phase === "running" ? text : `${text} (torn down)`);
  }
  return content;
}

function differences(
  what: string,
  wanted: ReadonlyMap<string, string>,
  present: ReadonlyMap<string, string>,
): string[] {
  const ids = new Set([...wanted.keys(), ...present.keys()]);
  return [...ids].filter((id) => wanted.get(id) !== present.get(id)).map((id) =>
    `${what} ${id}: expected ${wanted.get(id)}, is ${present.get(id)}`
  );
}

async function portProblems(
  state: StateCore,
  sources: readonly Stored<typeof Source>[],
): Promise<string[]> {
  const ports = await contentOf(state, Port);
  const numbers = [...ports.values()];
  return [
    ...sources.filter(({ id }) => !ports.has(id)).map(({ id }) => `source ${id} has no port`),
    ...[...ports.keys()].filter((id) => !sources.some((source) => source.id === id))
      .map((id) => `port ${id} has no source`),
    ...numbers.filter((port, at) => numbers.indexOf(port) !== at)
      .map((port) => `port ${port} is given twice`),
  ];
}

/** Finalizers that nobody will take away, and resources that nobody will remove. */
function stuck(
  sources: readonly Stored<typeof Source>[],
  extras: readonly Stored<typeof Extra>[],
  groups: readonly Stored<typeof Group>[],
  parts: ReadonlyMap<string, string>,
): string[] {
  const problems: string[] = [];
  for (const { id, raw, spec } of sources) {
    const { phase, finalizers } = raw.metadata;
    if (phase !== "running") problems.push(`source ${id} is stuck: ${finalizers.join(", ")}`);
    const holds = finalizers.includes(NAMES.device);
    if (holds !== (spec.managementAddress !== "")) {
      problems.push(`source ${id} with "${spec.managementAddress}" has ${finalizers.join(", ")}`);
    }
  }
  for (const { id, raw } of extras) {
    const { phase, finalizers } = raw.metadata;
    if (phase !== "running") problems.push(`extra ${id} is stuck: ${finalizers.join(", ")}`);
    const isUsed = sources.some((source) => source.id === id);
    if (finalizers.includes(NAMES.part) !== isUsed) {
      problems.push(`extra ${id} has ${finalizers.join(", ")}, parts: ${[...parts.keys()]}`);
    }
  }
  for (const { id, raw } of groups) {
    const isEmpty = !sources.some((source) => source.raw.metadata.labels[GROUP] === id);
    if (raw.metadata.phase !== "running" && isEmpty) problems.push(`group ${id} is stuck`);
  }
  return problems;
}
