// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How many items the engine works through: made anew, looked at without a change, changed.
 *
 * One transform with a second input on a state in memory; every item is read, planned, compared and,
 * where it differs, written. CPU time beside the rate tells what a busy machine did to it.
 *
 * @module
 */

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { systemClock } from "../../base/clock.ts";
import { defineController, type Plan, sameId } from "../../cosi/controller.ts";
import type { ResourceType } from "../../cosi/resource.ts";
import { type Runtime, startRuntime } from "../../cosi/runtime/runtime.ts";
import { Extra, Source, Target } from "../../cosi/runtime/test_types.ts";
import { openState, type StateCore } from "../../cosi/state/core.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { report } from "./figures.ts";

const ITEMS = 20_000;
/** Inputs changed between two turns of the event loop. */
const BURST = 200;

const CONTROLLER = defineController({
  name: "bench.CopyController",
  primary: Source,
  mapped: [sameId(Extra)],
  output: Target,
  gather: async ({ metadata }, reader) => ({ extra: await reader.find(Extra, metadata.id) }),
  plan: ({ metadata }, { extra }): Plan<typeof Target> => ({
    kind: "write",
    spec: { linkId: metadata.id, nodeSubnet: extra?.spec.lastEndpoint ?? "" },
  }),
});

function turn(): Promise<void> {
  return systemClock.sleep(0);
}

async function untilIdle(runtime: Runtime): Promise<void> {
  // An event is heard in a later turn than its write.
  await turn();
  while (!runtime.isIdle) await turn();
}

/** Measures work on all items. */
async function measure(what: string, work: () => Promise<void>): Promise<void> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  await work();
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  report(`engine, items ${what}`, ITEMS / seconds, "items/s");
  report(`engine, CPU time of an item ${what}`, (user + system) / ITEMS, "µs");
}

async function put<T extends ResourceType>(
  state: StateCore,
  { namespace, type, schema }: T,
  id: string,
  spec: MessageInitShape<T["schema"]>,
): Promise<void> {
  const stored = state.peek({ namespace, type, id });
  const protoSpec = toBinary(schema, create(schema, spec));
  if (stored !== undefined) {
    await state.update({ metadata: stored.metadata, protoSpec, yamlSpec: "" });
    return;
  }
  const metadata = {
    namespace,
    type,
    id,
    version: 0,
    owner: "",
    phase: "running" as const,
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels: {},
    annotations: {},
  };
  await state.create({ metadata, protoSpec, yamlSpec: "" });
}

const state = await openState({ store: openMemoryStore() });
for (let at = 0; at < ITEMS; at++) {
  await put(state, Source, `m${at}`, {});
  await put(state, Extra, `m${at}`, {});
}
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
const runtime = startRuntime({ state, controllers: [CONTROLLER] });
await measure("made anew", async () => {
  await runtime.ready;
  await untilIdle(runtime);
});
await measure("looked at without a change", async () => {
  await runtime.resync();
  await untilIdle(runtime);
});
await measure("changed", async () => {
  for (let at = 0; at < ITEMS; at++) {
    await put(state, Extra, `m${at}`, { lastEndpoint: "changed" });
    if (at % BURST === 0) await turn();
  }
  await untilIdle(runtime);
});
delays.disable();
report("engine, main thread busy at a stretch (99 %)", delays.percentile(99) / 1e6, "ms");
await runtime.stop();
await state.close();
