// SPDX-License-Identifier: AGPL-3.0-or-later

/** Controllers that are driven by what an adapter observes. @module */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { defineCollector, type Observation } from "../collector.ts";
import { type Controller, type Plan, sameId, wait } from "../controller.ts";
import { startHarness } from "../testing.ts";
import { noMetrics } from "./metrics.ts";
import { Extra, Target } from "./test_types.ts";

type Told = Observation<string> | { readonly kind: "fail" } | { readonly kind: "end" };

/** An adapter that tells what the test says, to whoever listens. */
function fakeAdapter() {
  const told: Told[] = [];
  let wake = (): void => {};
  return {
    opened: 0,
    tell(...observations: Told[]): void {
      told.push(...observations);
      wake();
    },
    async *observe({ signal }: { readonly signal: AbortSignal }): AsyncGenerator<
      Observation<string>
    > {
      this.opened += 1;
      signal.addEventListener("abort", () => wake());
      while (!signal.aborted) {
        const next = told.shift();
        if (next?.kind === "end") return;
        if (next?.kind === "fail") throw new Error("stream broke");
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => void (wake = resolve));
      }
    },
  };
}

function collector(adapter: ReturnType<typeof fakeAdapter>): Controller {
  return defineCollector({
    name: "test.SeenCollector",
    mapped: [sameId(Extra)],
    output: Target,
    observe: (options) => adapter.observe(options),
    gather: async (id, reader) => ({ extra: await reader.find(Extra, id) }),
    plan: ({ value }, { extra }): Plan<typeof Target> => {
      if (value === "unclear") return wait("cannot tell");
      if (value === "drop") return { kind: "destroy", reason: "not wanted" };
      return { kind: "write", spec: { linkId: `${value}${extra?.spec.lastEndpoint ?? ""}` } };
    },
  });
}

const seen = (id: string, value: string): Told => ({ kind: "observed", id, value });

Deno.test("a collector writes what was observed last", async () => {
  const adapter = fakeAdapter();
  await using harness = startHarness(collector(adapter));
  adapter.tell(seen("a", "1"), seen("a", "2"), seen("b", "1"));
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "2"));
  const { metadata } = await harness.eventually(Target, "b");
  strictEqual(metadata.owner, "test.SeenCollector");
  adapter.tell(seen("b", "unclear"));
  await harness.eventuallyWaits("test.SeenCollector", "b");
  await harness.eventually(Target, "b", ({ spec }) => strictEqual(spec.linkId, "1"));
});

Deno.test("a collector removes what is gone or not wanted", async () => {
  const adapter = fakeAdapter();
  await using harness = startHarness(collector(adapter));
  adapter.tell(seen("a", "1"), seen("b", "1"));
  await harness.eventually(Target, "b");
  adapter.tell({ kind: "gone", id: "a" }, seen("b", "drop"));
  await harness.eventuallyGone(Target, "a");
  await harness.eventuallyGone(Target, "b");
  adapter.tell(seen("a", "2"));
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "2"));
});

Deno.test("a collector plans again when a mapped input changes", async () => {
  const adapter = fakeAdapter();
  await using harness = startHarness(collector(adapter));
  adapter.tell(seen("a", "1"));
  await harness.eventually(Target, "a");
  await harness.create(Extra, "a", { lastEndpoint: "+" });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "1+"));
  await harness.create(Extra, "unseen", {});
  await harness.settled();
  strictEqual(await harness.find(Target, "unseen"), undefined);
});

Deno.test("a stream that ends or fails is opened again; what it does not tell stays until it is complete", async () => {
  const adapter = fakeAdapter();
  const crashes: string[] = [];
  await using harness = startHarness(collector(adapter), {
    metrics: { ...noMetrics, countCrash: (name) => void crashes.push(name) },
  });
  adapter.tell(seen("a", "1"), seen("b", "1"), { kind: "complete" });
  await harness.eventually(Target, "b");
  adapter.tell({ kind: "fail" }, seen("c", "1"));
  await harness.eventually(Target, "c");
  deepStrictEqual(crashes, ["test.SeenCollector"]);
  await harness.eventually(Target, "a");
  adapter.tell({ kind: "end" }, seen("b", "2"), { kind: "complete" });
  await harness.eventually(Target, "b", ({ spec }) => strictEqual(spec.linkId, "2"));
  await harness.eventuallyGone(Target, "a");
  await harness.eventuallyGone(Target, "c");
  strictEqual(adapter.opened, 3);
});

Deno.test("outputs from before a restart are removed once the adapter told everything else", async () => {
  const adapter = fakeAdapter();
  await using harness = startHarness(collector(adapter));
  adapter.tell(seen("a", "1"), seen("b", "1"));
  await harness.eventually(Target, "b");
  await harness.restart();
  adapter.tell(seen("b", "1"));
  await harness.settled();
  ok(await harness.find(Target, "a") !== undefined);
  adapter.tell({ kind: "complete" });
  await harness.eventuallyGone(Target, "a");
  await harness.eventually(Target, "b");
});
