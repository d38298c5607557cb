// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What users and strangers do to the simulated state, at random.
 *
 * @module
 */

import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { formatError } from "../../base/errors.ts";
import type { Metadata, ResourceType } from "../../cosi/resource.ts";
import { findRaw } from "../../cosi/runtime/state_reader.ts";
import { Extra, GROUP, Group, OUTPUT_TYPES, Part, Source, Target } from "./controllers.ts";
import type { World } from "./world.ts";

const SOURCES = ["s0", "s1", "s2", "s3", "s4", "s5"] as const;
const GROUPS = ["g0", "g1"] as const;
const ADDRESSES = ["", "a", "ab", "bc", "abc", "d"] as const;
/** The finalizer of somebody who is no controller. */
const STRANGER = "stranger";

/** One thing that somebody does; a refusal by the state is no fault of anybody. */
export async function actAtRandom(world: World): Promise<void> {
  const { chance } = world;
  const action = chance.pick(ACTIONS);
  try {
    await action(world);
  } catch (error) {
    world.note(`refused: ${formatError(error)}`);
  }
}

/** Takes away everything by which strangers hold resources. */
export async function letGo(world: World): Promise<void> {
  for (const type of [Target, Part]) {
    for (const { metadata } of await world.state.list(type)) await unhold(world, type, metadata.id);
  }
}

const ACTIONS: readonly [Action, ...Action[]] = [
  putSource,
  putSource,
  putSource,
  putExtra,
  putExtra,
  putGroup,
  (world) => tearDown(world, Source, world.chance.pick(SOURCES)),
  (world) => tearDown(world, Extra, world.chance.pick(SOURCES)),
  (world) => tearDown(world, Group, world.chance.pick(GROUPS)),
  (world) => destroy(world, Extra, world.chance.pick(SOURCES)),
  (world) => destroy(world, Source, world.chance.pick(SOURCES)),
  tearDownOutput,
  (world) => hold(world, world.chance.pick([Target, Part])),
  async (world) => {
    const type = world.chance.pick([Target, Part]);
    const id = await anyId(world, type);
    if (id !== undefined) await unhold(world, type, id);
  },
];

type Action = (world: World) => Promise<void>;

async function putSource(world: World): Promise<void> {
  const { chance } = world;
  const labels = { [GROUP]: chance.pick(GROUPS) };
  const spec = { managementAddress: chance.pick(ADDRESSES) };
  await put(world, Source, chance.pick(SOURCES), spec, labels);
}

async function putExtra(world: World): Promise<void> {
  const spec = { lastEndpoint: `${world.chance.below(3)}` };
  await put(world, Extra, world.chance.pick(SOURCES), spec, {});
}

async function putGroup(world: World): Promise<void> {
  await put(world, Group, world.chance.pick(GROUPS), {}, {});
}

async function put<S extends DescMessage>(
  world: World,
  type: ResourceType<S>,
  id: string,
  init: MessageInitShape<S>,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  const ref = { namespace: type.namespace, type: type.type, id };
  const protoSpec = toBinary(type.schema, create(type.schema, init));
  const stored = await findRaw(world.state, ref);
  world.note(`user puts ${type.type} ${id} ${JSON.stringify(init)} ${JSON.stringify(labels)}`);
  if (stored === undefined) {
    const metadata: Metadata = {
      ...ref,
      version: 0,
      owner: "",
      phase: "running",
      created: undefined,
      updated: undefined,
      finalizers: [],
      annotations: {},
      labels,
    };
    await world.state.create({ metadata, protoSpec, yamlSpec: "" });
    return;
  }
  await world.state.update(
    { metadata: { ...stored.metadata, labels }, protoSpec, yamlSpec: "" },
    { expectedPhase: "running" },
  );
}

async function tearDown(world: World, type: ResourceType, id: string): Promise<void> {
  world.note(`user tears down ${type.type} ${id}`);
  await world.state.teardown({ namespace: type.namespace, type: type.type, id });
}

/** Works only while nobody holds the resource. */
async function destroy(world: World, type: ResourceType, id: string): Promise<void> {
  world.note(`user destroys ${type.type} ${id}`);
  await world.state.destroy({ namespace: type.namespace, type: type.type, id });
}

/** Somebody acts in the place of a controller. */
async function tearDownOutput(world: World): Promise<void> {
  const type = world.chance.pick(OUTPUT_TYPES);
  const id = await anyId(world, type);
  if (id === undefined) return;
  const { metadata } = await world.state.get({ namespace: type.namespace, type: type.type, id });
  world.note(`stranger tears down ${type.type} ${id}`);
  const { owner } = metadata;
  const isReady = await world.state.teardown(metadata, { owner });
  if (isReady && world.chance.happens(0.5)) await world.state.destroy(metadata, { owner });
}

async function hold(world: World, type: ResourceType): Promise<void> {
  const id = await anyId(world, type);
  if (id === undefined) return;
  const stored = await world.state.get({ namespace: type.namespace, type: type.type, id });
  const { metadata, protoSpec } = stored;
  if (metadata.finalizers.includes(STRANGER)) return;
  world.note(`stranger holds ${type.type} ${id}`);
  await world.state.update({
    metadata: { ...metadata, finalizers: [...metadata.finalizers, STRANGER] },
    protoSpec,
    yamlSpec: "",
  }, { owner: metadata.owner, expectedPhase: "running" });
}

async function unhold(world: World, type: ResourceType, id: string): Promise<void> {
  const stored = await findRaw(world.state, { namespace: type.namespace, type: type.type, id });
  if (!stored?.metadata.finalizers.includes(STRANGER)) return;
  const { metadata, protoSpec } = stored;
  world.note(`stranger lets go ${type.type} ${id}`);
  const finalizers = metadata.finalizers.filter((finalizer) => finalizer !== STRANGER);
  await world.state.update(
    { metadata: { ...metadata, finalizers }, protoSpec, yamlSpec: "" },
    { owner: metadata.owner },
  );
}

async function anyId(world: World, type: ResourceType): Promise<string | undefined> {
  const all = await world.state.list(type);
  return all[world.chance.below(all.length)]?.metadata.id;
}
