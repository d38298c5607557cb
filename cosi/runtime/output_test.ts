// SPDX-License-Identifier: AGPL-3.0-or-later

/** What the engine writes, and what it does not. @module */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  allOf,
  defineController,
  type Plan,
  type PlanMany,
  PRIMARY_LABEL,
  readOnly,
  sameId,
} from "../controller.ts";
import type { Resource } from "../resource.ts";
import { type Harness, startHarness } from "../testing.ts";
import type { ItemWait } from "./waits.ts";
import { Extra, PARENT, Source, Target } from "./test_types.ts";

const NAME = "test.OutputController";

const copy = defineController({
  name: NAME,
  primary: Source,
  mapped: [sameId(Extra)],
  output: Target,
  plan: ({ metadata, spec }): Plan<typeof Target> =>
    spec.managementAddress === "none" ? { kind: "destroy", reason: "there is no address" } : {
      kind: "write",
      spec: { linkId: spec.managementAddress },
      labels: { [PARENT]: metadata.labels[PARENT] ?? "none" },
      annotations: { note: metadata.annotations.note ?? "none" },
    },
});

function versionIs(version: number) {
  return ({ metadata }: Resource<typeof Target>) => strictEqual(metadata.version, version);
}

Deno.test("the engine writes only differences of spec, labels and annotations", async () => {
  await using harness = startHarness(copy);
  await harness.create(Source, "a", { managementAddress: "x" });
  const { metadata } = await harness.eventually(Target, "a", versionIs(1));
  strictEqual(metadata.owner, NAME);
  deepStrictEqual(metadata.labels, { [PARENT]: "none" });

  await harness.create(Extra, "a", {});
  await harness.update(Source, "a", { managementAddress: "x", connected: true });
  await harness.settled();
  await harness.eventually(Target, "a", versionIs(1));

  await harness.update(Source, "a", ({ spec }) => spec, { labels: { [PARENT]: "p" } });
  await harness.eventually(Target, "a", versionIs(2));
  await harness.update(Source, "a", ({ spec }) => spec, { annotations: { note: "n" } });
  const changed = await harness.eventually(Target, "a", versionIs(3));
  deepStrictEqual(changed.metadata.labels, { [PARENT]: "p" });
  deepStrictEqual(changed.metadata.annotations, { note: "n" });
  await harness.update(Source, "a", { managementAddress: "y" });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "y"));
});

Deno.test("an update of an output keeps the finalizers that others put on it", async () => {
  await using harness = startHarness(copy);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: ["somebody"] });
  await harness.update(Source, "a", { managementAddress: "y" });
  const { metadata } = await harness.eventually(
    Target,
    "a",
    ({ spec }) => strictEqual(spec.linkId, "y"),
  );
  deepStrictEqual(metadata.finalizers, ["somebody"]);
});

Deno.test("a tearing-down output takes no update, is destroyed first and then rebuilt", async () => {
  await using harness = startHarness(copy);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: ["somebody"] });
  await harness.teardown(Target, "a");
  await harness.update(Source, "a", { managementAddress: "y" });
  await harness.eventuallyWaits(NAME, "a", ({ reason }) => ok(reason.includes("somebody"), reason));
  await harness.settled();
  const held = await harness.eventually(Target, "a");
  strictEqual(held.spec.linkId, "x");
  strictEqual(held.metadata.phase, "tearingDown");

  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: [] });
  const rebuilt = await harness.eventually(
    Target,
    "a",
    ({ spec }) => strictEqual(spec.linkId, "y"),
  );
  strictEqual(rebuilt.metadata.phase, "running");
  strictEqual(rebuilt.metadata.version, 1);
});

Deno.test("an effect is not carried out while its output is still being torn down", async () => {
  const actions: string[] = [];
  const controller = defineController({
    name: NAME,
    primary: Source,
    output: Target,
    plan: ({ spec }): Plan<typeof Target, string> => ({
      kind: "write",
      action: spec.managementAddress,
      spec: { linkId: spec.managementAddress },
    }),
    act: (_source, action) => Promise.resolve(void actions.push(action)),
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: ["somebody"] });
  await harness.teardown(Target, "a");
  await harness.update(Source, "a", { managementAddress: "y" });
  await harness.eventuallyWaits(NAME, "a");
  await harness.settled();
  deepStrictEqual(actions, ["x"]);
  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: [] });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "y"));
  deepStrictEqual(actions, ["x", "y"]);
});

Deno.test("an output that somebody destroys is written again", async () => {
  await using harness = startHarness(copy);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.destroy(Target, "a");
  await harness.eventually(Target, "a");
});

Deno.test("an output of somebody else is neither overwritten nor removed", async () => {
  await using harness = startHarness(copy);
  await harness.create(Target, "a", { linkId: "by hand" });
  await harness.create(Source, "a", { managementAddress: "x" });
  const { state, reason } = await harness.eventuallyWaits(NAME, "a");
  strictEqual(state, "failing");
  ok(reason.includes("belongs to a user"), reason);
  await harness.update(Source, "a", { managementAddress: "none" });
  await harness.eventually(Source, "a", ({ metadata }) => deepStrictEqual(metadata.finalizers, []));
  const declined = ({ state }: ItemWait): void => strictEqual(state, "declined");
  const wait = await harness.eventuallyWaits(NAME, "a", declined);
  strictEqual(wait.reason, "there is no address");
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "by hand"));
});

Deno.test("outputs whose primary went while the engine was stopped are swept at the start", async () => {
  await using harness = startHarness(copy);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.stop();
  await harness.update(Source, "a", ({ spec }) => spec, { finalizers: [] });
  await harness.destroy(Source, "a");
  await harness.create(Target, "b", { linkId: "of a user" });
  await harness.restart();
  await harness.eventuallyGone(Target, "a");
  await harness.settled();
  await harness.eventually(Target, "b");
});

/** One output for each comma-separated part of the address. */
const split = defineController({
  name: "test.SplitController",
  primary: Source,
  outputs: Target,
  plan: ({ metadata, spec }): PlanMany<typeof Target> => ({
    kind: "write",
    outputs: new Map(
      spec.managementAddress.split(",").filter((part) => part !== "").map((part) => [
        `${metadata.id}-${part}`,
        { spec: { linkId: part }, labels: { [PARENT]: metadata.id } },
      ]),
    ),
  }),
});

async function targetIds(harness: Harness) {
  return (await harness.list(Target)).map(({ metadata }) => metadata.id);
}

Deno.test("outputs that the plan leaves out are torn down, the others stay as they are", async () => {
  await using harness = startHarness(split);
  await harness.create(Source, "a", { managementAddress: "x,y" });
  await harness.create(Source, "b", { managementAddress: "x" });
  const { metadata } = await harness.eventually(Target, "a-y");
  deepStrictEqual(metadata.labels, { [PARENT]: "a", [PRIMARY_LABEL]: "a" });
  await harness.eventually(Target, "b-x");

  await harness.update(Source, "a", { managementAddress: "y,z" });
  await harness.eventually(Target, "a-z");
  await harness.eventuallyGone(Target, "a-x");
  await harness.eventually(Target, "a-y", versionIs(1));

  await harness.teardown(Source, "a");
  await harness.eventuallyGone(Target, "a-y");
  await harness.eventuallyGone(Target, "a-z");
  await harness.eventually(Source, "a", ({ metadata }) => deepStrictEqual(metadata.finalizers, []));
  deepStrictEqual(await targetIds(harness), ["b-x"]);
});

Deno.test("outputs of a one-to-many controller are swept at the start", async () => {
  await using harness = startHarness(split);
  await harness.create(Source, "a", { managementAddress: "x,y" });
  await harness.create(Source, "b", { managementAddress: "x" });
  await harness.eventually(Target, "a-y");
  await harness.eventually(Target, "b-x");
  await harness.stop();
  await harness.update(Source, "a", ({ spec }) => spec, { finalizers: [] });
  await harness.destroy(Source, "a");
  await harness.update(Source, "b", { managementAddress: "y" });
  await harness.restart();
  await harness.eventuallyGone(Target, "a-x");
  await harness.eventuallyGone(Target, "a-y");
  await harness.eventuallyGone(Target, "b-x");
  await harness.settled();
  deepStrictEqual(await targetIds(harness), ["b-y"]);
});

Deno.test("one blocked output does not hold up the others", async () => {
  await using harness = startHarness(split);
  await harness.create(Source, "a", { managementAddress: "x,y" });
  await harness.eventually(Target, "a-y");
  await harness.update(Target, "a-x", ({ spec }) => spec, { finalizers: ["somebody"] });
  await harness.update(Source, "a", { managementAddress: "y,z" });
  await harness.eventually(Target, "a-z");
  await harness.eventuallyWaits("test.SplitController", "a");
  await harness.update(Target, "a-x", ({ spec }) => spec, { finalizers: [] });
  await harness.eventuallyGone(Target, "a-x");
});

Deno.test("outputId() names the output, and the former one goes when it changes", async () => {
  const renamed = defineController({
    name: "test.RenameController",
    primary: Source,
    output: Target,
    outputId: ({ spec }) => spec.managementAddress,
    plan: ({ metadata }): Plan<typeof Target> => ({
      kind: "write",
      spec: { linkId: metadata.id },
    }),
  });
  await using harness = startHarness(renamed);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "x", ({ spec }) => strictEqual(spec.linkId, "a"));
  await harness.update(Source, "a", { managementAddress: "y" });
  await harness.eventually(Target, "y");
  await harness.eventuallyGone(Target, "x");
  // Two primaries cannot share one output: the second says so and takes it over when it is free.
  await harness.create(Source, "b", { managementAddress: "y" });
  const { reason } = await harness.eventuallyWaits("test.RenameController", "b");
  ok(reason.includes('it was written for "a"'), reason);
  await harness.teardown(Source, "a");
  await harness.eventually(Target, "y", ({ spec }) => strictEqual(spec.linkId, "b"));
});

Deno.test("an output that is read back keeps what was once chosen", async () => {
  const sticky = defineController({
    name: "test.PortController",
    primary: Source,
    mapped: [readOnly(Target), allOf(Extra)],
    output: Target,
    concurrency: 1,
    gather: async (source, reader) => ({
      own: await reader.find(Target, source.metadata.id),
      all: await reader.list(Target),
    }),
    plan: (_source, { own, all }): Plan<typeof Target> => {
      const taken = new Set(all.map(({ spec }) => spec.linkId));
      let port = 1;
      while (taken.has(`${port}`)) port += 1;
      return { kind: "write", spec: { linkId: own?.spec.linkId ?? `${port}` } };
    },
  });
  await using harness = startHarness(sticky);
  for (const id of ["a", "b", "c"]) {
    await harness.create(Source, id, {});
    await harness.eventually(Target, id);
  }
  const ports = async () => (await harness.list(Target)).map(({ spec }) => spec.linkId);
  deepStrictEqual(await ports(), ["1", "2", "3"]);
  await harness.teardown(Source, "a");
  await harness.eventuallyGone(Target, "a");
  await harness.create(Extra, "go", {});
  await harness.settled();
  await harness.restart();
  await harness.settled();
  deepStrictEqual(await ports(), ["2", "3"]);
  await harness.create(Source, "d", {});
  await harness.eventually(Target, "d", ({ spec }) => strictEqual(spec.linkId, "1"));
});

Deno.test("values that only act can know take their place in the output and stay", async () => {
  let calls = 0;
  const controller = defineController({
    name: "test.SchematicController",
    primary: Source,
    mapped: [readOnly(Target)],
    output: Target,
    gather: async (source, reader) => ({ own: await reader.find(Target, source.metadata.id) }),
    plan: ({ spec }, { own }): Plan<typeof Target, string> => {
      const nodeSubnet = spec.managementAddress;
      if (own?.spec.nodeSubnet === nodeSubnet) {
        return { kind: "write", spec: { nodeSubnet, linkId: own.spec.linkId } };
      }
      return { kind: "write", action: nodeSubnet, spec: { nodeSubnet } };
    },
    act: (_source, subnet) => Promise.resolve({ linkId: `id-${subnet}-${++calls}` }),
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "id-x-1"));
  await harness.restart();
  await harness.settled();
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "id-x-1"));
  await harness.update(Source, "a", { managementAddress: "y" });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "id-y-2"));
});
