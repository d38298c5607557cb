// SPDX-License-Identifier: AGPL-3.0-or-later

/** Which changes wake which items. @module */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  allOf,
  byLabel,
  byPrimaryLabel,
  bySharedLabel,
  type Controller,
  defineController,
  mapped,
  type Plan,
  readOnly,
  sameId,
} from "../controller.ts";
import type { Resource, ResourceType } from "../resource.ts";
import { type Harness, startHarness } from "../testing.ts";
import type { Mapped } from "./declaration.ts";
import { Derived, Extra, PARENT, Source, Target } from "./test_types.ts";

/** Writes down the items it looks at. */
function recorder(looks: string[], input: Mapped<typeof Extra>): Controller {
  return defineController({
    name: "test.LookController",
    primary: Source,
    mapped: [input],
    output: Target,
    plan: ({ metadata }): Plan<typeof Target> => {
      looks.push(metadata.id);
      return { kind: "write", spec: {} };
    },
  });
}

/** What a change of the state makes the controller look at. */
async function looksAt(
  harness: Harness,
  looks: string[],
  change: () => Promise<void>,
): Promise<string[]> {
  await harness.settled();
  looks.length = 0;
  await change();
  await harness.settled();
  return [...looks].sort();
}

async function withSources(harness: Harness): Promise<void> {
  await harness.create(Source, "a", {}, { labels: { [PARENT]: "p" } });
  await harness.create(Source, "b", {}, { labels: { [PARENT]: "p" } });
  await harness.create(Source, "c", {}, { labels: { [PARENT]: "q" } });
  await harness.create(Source, "p", {});
}

Deno.test("sameId() wakes the primary of the same ID", async () => {
  const looks: string[] = [];
  await using harness = startHarness(recorder(looks, sameId(Extra)));
  await withSources(harness);
  deepStrictEqual(await looksAt(harness, looks, () => harness.create(Extra, "a", {})), ["a"]);
  deepStrictEqual(
    await looksAt(harness, looks, () => harness.update(Extra, "a", { lastEndpoint: "x" })),
    ["a"],
  );
  deepStrictEqual(await looksAt(harness, looks, () => harness.destroy(Extra, "a")), ["a"]);
});

Deno.test("byLabel() wakes the parent, and the former one of a child that moves", async () => {
  const looks: string[] = [];
  await using harness = startHarness(recorder(looks, byLabel(Extra, PARENT)));
  await withSources(harness);
  deepStrictEqual(
    await looksAt(
      harness,
      looks,
      () => harness.create(Extra, "x", {}, { labels: { [PARENT]: "a" } }),
    ),
    ["a"],
  );
  deepStrictEqual(
    await looksAt(
      harness,
      looks,
      () => harness.update(Extra, "x", {}, { labels: { [PARENT]: "b" } }),
    ),
    ["a", "b"],
  );
  deepStrictEqual(await looksAt(harness, looks, () => harness.create(Extra, "a", {})), []);
});

Deno.test("bySharedLabel() wakes the primaries with the same value", async () => {
  const looks: string[] = [];
  await using harness = startHarness(recorder(looks, bySharedLabel(Extra, PARENT)));
  await withSources(harness);
  const change = () => harness.create(Extra, "x", {}, { labels: { [PARENT]: "p" } });
  deepStrictEqual(await looksAt(harness, looks, change), ["a", "b"]);
});

Deno.test("byPrimaryLabel() wakes the children of a parent", async () => {
  const looks: string[] = [];
  await using harness = startHarness(recorder(looks, byPrimaryLabel(Extra, PARENT)));
  await withSources(harness);
  deepStrictEqual(await looksAt(harness, looks, () => harness.create(Extra, "p", {})), ["a", "b"]);
});

Deno.test("mapped() wakes what a function reads off the present and the former input", async () => {
  const looks: string[] = [];
  const input = mapped(Extra, ({ spec }) => spec.lastEndpoint.split(",").filter((id) => id !== ""));
  await using harness = startHarness(recorder(looks, input));
  await withSources(harness);
  deepStrictEqual(
    await looksAt(harness, looks, () => harness.create(Extra, "x", { lastEndpoint: "a,b" })),
    ["a", "b"],
  );
  deepStrictEqual(
    await looksAt(harness, looks, () => harness.update(Extra, "x", { lastEndpoint: "c" })),
    ["a", "b", "c"],
  );
});

Deno.test("allOf() wakes every primary, readOnly() none", async () => {
  const looks: string[] = [];
  await using all = startHarness(recorder(looks, allOf(Extra)));
  await withSources(all);
  deepStrictEqual(
    await looksAt(all, looks, () => all.create(Extra, "x", {})),
    ["a", "b", "c", "p"],
  );
  await using none = startHarness(recorder(looks, readOnly(Extra)));
  await withSources(none);
  deepStrictEqual(await looksAt(none, looks, () => none.create(Extra, "a", {})), []);
});

Deno.test("a mapping that throws is counted and leaves the others alone", async () => {
  const looks: string[] = [];
  const crashes: string[] = [];
  const { noMetrics } = await import("./metrics.ts");
  const input = mapped(Extra, ({ spec }) => {
    if (spec.lastEndpoint === "bad") throw new Error("cannot read it");
    return [spec.lastEndpoint];
  });
  await using harness = startHarness(recorder(looks, input), {
    metrics: { ...noMetrics, countCrash: (name) => void crashes.push(name) },
  });
  await withSources(harness);
  await harness.create(Extra, "x", { lastEndpoint: "bad" });
  deepStrictEqual(
    await looksAt(harness, looks, () => harness.create(Extra, "y", { lastEndpoint: "b" })),
    ["b"],
  );
  deepStrictEqual(crashes, ["test.LookController"]);
});

Deno.test("finalizers that come and go on a running resource wake nobody", async () => {
  const looks: string[] = [];
  await using harness = startHarness(recorder(looks, sameId(Extra)));
  await withSources(harness);
  await harness.create(Extra, "a", {});
  const hold = () => harness.update(Extra, "a", ({ spec }) => spec, { finalizers: ["x"] });
  deepStrictEqual(await looksAt(harness, looks, hold), []);
  const holdPrimary = () =>
    harness.update(Source, "a", ({ spec }) => spec, { finalizers: ["test.LookController", "x"] });
  deepStrictEqual(await looksAt(harness, looks, holdPrimary), []);
  const touch = () => harness.update(Source, "a", ({ spec }) => spec, { annotations: { a: "b" } });
  deepStrictEqual(await looksAt(harness, looks, touch), ["a"]);
});

Deno.test("the controller's own writes wake nobody but those who read the output", async () => {
  const looks: string[] = [];
  const reads: string[] = [];
  const reader = defineController({
    name: "test.ReadController",
    primary: Target,
    output: Derived,
    plan: ({ metadata }): Plan<typeof Derived> => {
      reads.push(metadata.id);
      return { kind: "write", spec: {} };
    },
  });
  await using harness = startHarness(recorder(looks, sameId(Extra)), reader);
  await harness.create(Source, "a", {});
  await harness.eventually(Derived, "a");
  await harness.settled();
  deepStrictEqual(looks, ["a"]);
  deepStrictEqual(reads, ["a"]);
});

Deno.test("many children make one status of their parent", async () => {
  const status = defineController({
    name: "test.CountController",
    primary: Source,
    mapped: [byLabel(Extra, PARENT)],
    output: Target,
    gather: async ({ metadata }, reader) => ({
      children: await reader.list(Extra, { labels: { [PARENT]: metadata.id } }),
    }),
    plan: (_source, { children }): Plan<typeof Target> => {
      const ready = children.filter(({ spec }) => spec.connected).length;
      return { kind: "write", spec: { linkId: `${ready}/${children.length}` } };
    },
  });
  await using harness = startHarness(status);
  await harness.create(Source, "p", {});
  const is = (text: string) => ({ spec }: Resource<typeof Target>) =>
    strictEqual(spec.linkId, text);
  await harness.eventually(Target, "p", is("0/0"));
  const labels = { [PARENT]: "p" };
  await harness.create(Extra, "x", { connected: true }, { labels });
  await harness.create(Extra, "y", {}, { labels });
  await harness.create(Extra, "z", {}, { labels: { [PARENT]: "q" } });
  await harness.eventually(Target, "p", is("1/2"));
  await harness.update(Extra, "y", { connected: true });
  await harness.eventually(Target, "p", is("2/2"));
  await harness.destroy(Extra, "x");
  await harness.eventually(Target, "p", is("1/1"));
});

Deno.test("a reader refuses at run time what the compiler could not see", async () => {
  const Twin: ResourceType<typeof Extra.schema, typeof Extra.type> = {
    ...Extra,
    namespace: "elsewhere",
  };
  const controller = defineController({
    name: "test.TwinController",
    primary: Source,
    mapped: [sameId(Extra)],
    output: Target,
    gather: async ({ metadata }, reader) => ({ twin: await reader.find(Twin, metadata.id) }),
    plan: (): Plan<typeof Target> => ({ kind: "write", spec: {} }),
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", {});
  const { state, reason } = await harness.eventuallyWaits("test.TwinController", "a");
  strictEqual(state, "stopped");
  ok(reason.includes('Cannot read "Extras.test"'), reason);
});
