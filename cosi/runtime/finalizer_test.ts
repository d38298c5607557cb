// SPDX-License-Identifier: AGPL-3.0-or-later

/** Finalizers, effects and the way back. @module */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { type Controller, defineController, held, type Plan, sameId, wait } from "../controller.ts";
import { faultyState } from "../test_faults.ts";
import type { Metadata, Resource } from "../resource.ts";
import { startHarness } from "../testing.ts";
import { Derived, Extra, Source, Target } from "./test_types.ts";

const NAME = "test.EffectController";

interface Log {
  readonly lines: string[];
}

/** An effect that writes down what it finds when it is called. */
function effect(log: Log, finalize?: () => Promise<void | ReturnType<typeof wait>>): Controller {
  return defineController({
    name: NAME,
    primary: Source,
    mapped: [sameId(Target)],
    output: Target,
    gather: async (source, reader) => ({ output: await reader.find(Target, source.metadata.id) }),
    plan: ({ spec }): Plan<typeof Target, string> =>
      spec.managementAddress === "none" ? { kind: "destroy", reason: "there is no address" } : {
        kind: "write",
        action: spec.managementAddress,
        spec: { linkId: spec.managementAddress },
      },
    act: async (source, action, { facts }) => {
      log.lines.push(
        `act ${action} ${facts.output === undefined ? "before" : "with"} output`,
      );
      await Promise.resolve();
      if (source.metadata.id === "unused") throw new Error("unreachable");
    },
    finalize: async (source, { facts }) => {
      log.lines.push(
        `finalize ${source.metadata.id} ${facts.output === undefined ? "after" : "with"} output`,
      );
      return await finalize?.();
    },
  });
}

function hasFinalizers(...finalizers: string[]) {
  return ({ metadata }: { readonly metadata: Metadata }) =>
    deepStrictEqual(metadata.finalizers, finalizers);
}

Deno.test("the engine holds the primary before act and lets go after the output and finalize", async () => {
  const log: Log = { lines: [] };
  let finalizersInAct: readonly string[] = [];
  const base = effect(log);
  if (base.shape === "collector") throw new Error("not a collector");
  await using harness = startHarness({
    ...base,
    act: async (...args) => {
      finalizersInAct = (await harness.find(Source, "a"))?.metadata.finalizers ?? [];
      await base.act?.(...args);
    },
  });
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  deepStrictEqual(finalizersInAct, [NAME]);

  await harness.teardown(Source, "a");
  await harness.eventually(Source, "a", hasFinalizers());
  await harness.eventuallyGone(Target, "a");
  deepStrictEqual(log.lines, ["act x before output", "finalize a after output"]);
});

Deno.test("the engine keeps the finalizer while finalize fails or waits", async () => {
  const log: Log = { lines: [] };
  const answers = [
    () => Promise.reject(new Error("machine does not answer")),
    () => Promise.resolve(wait("machine is still resetting", { retryAfterMs: 5 })),
  ];
  const gate = Promise.withResolvers<void>();
  await using harness = startHarness(
    effect(log, async () => {
      const answer = answers.shift();
      if (answer !== undefined) return await answer();
      await gate.promise;
    }),
  );
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.teardown(Source, "a");
  const seen = await harness.eventuallyWaits(
    NAME,
    "a",
    ({ reason }) => strictEqual(reason, "machine is still resetting"),
  );
  strictEqual(seen.state, "waiting");
  await harness.eventually(Source, "a", hasFinalizers(NAME));
  gate.resolve();
  await harness.eventually(Source, "a", hasFinalizers());
  strictEqual(log.lines.filter((line) => line.startsWith("finalize")).length, 3);
});

Deno.test("the engine keeps the finalizer while somebody holds the output", async () => {
  const log: Log = { lines: [] };
  await using harness = startHarness(effect(log));
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: ["somebody"] });
  await harness.teardown(Source, "a");
  const { reason, blockers } = await harness.eventuallyWaits(NAME, "a");
  ok(reason.includes("held by somebody"), reason);
  deepStrictEqual(blockers, [{ namespace: "default", type: "Targets.test", id: "a" }]);
  await harness.eventually(Source, "a", hasFinalizers(NAME));
  deepStrictEqual(log.lines, ["act x before output"]);

  await harness.update(Target, "a", ({ spec }) => spec, { finalizers: [] });
  await harness.eventually(Source, "a", hasFinalizers());
  deepStrictEqual(log.lines, ["act x before output", "finalize a after output"]);
});

Deno.test("a destroy plan undoes the effect, and a later write does it again", async () => {
  const log: Log = { lines: [] };
  await using harness = startHarness(effect(log));
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.update(Source, "a", { managementAddress: "none" });
  await harness.eventuallyGone(Target, "a");
  await harness.eventually(Source, "a", hasFinalizers());
  await harness.update(Source, "a", { managementAddress: "y" });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "y"));
  deepStrictEqual(log.lines, [
    "act x before output",
    "finalize a after output",
    "act y before output",
  ]);
});

Deno.test("the engine begins nothing for a primary that is tearing down", async () => {
  const log: Log = { lines: [] };
  await using harness = startHarness(effect(log));
  await harness.create(Source, "a", { managementAddress: "x" }, {
    phase: "tearingDown",
    finalizers: ["somebody"],
  });
  await harness.settled();
  deepStrictEqual(log.lines, []);
  strictEqual(await harness.find(Target, "a"), undefined);
  await harness.eventually(Source, "a", hasFinalizers("somebody"));
});

Deno.test("the engine does not hold what is torn down while it is about to hold it", async () => {
  const log: Log = { lines: [] };
  let isArmed = true;
  await using harness = startHarness(effect(log), {
    wrap: (state) =>
      faultyState(state, {
        before: async ({ verb, on }) => {
          if (!isArmed || verb !== "update" || on.type !== Source.type) return;
          isArmed = false;
          const core = await harness.state();
          // Somebody else holds it, so that it stays after it is marked.
          const stored = await core.get({ ...on, id: "a" });
          const metadata = { ...stored.metadata, finalizers: ["somebody"] };
          await core.update({ metadata, protoSpec: stored.protoSpec, yamlSpec: "" });
          await core.teardown({ ...on, id: "a" });
        },
      }),
  });
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(
    Source,
    "a",
    ({ metadata }) => strictEqual(metadata.phase, "tearingDown"),
  );
  await harness.settled();
  await harness.eventually(Source, "a", hasFinalizers("somebody"));
  deepStrictEqual(log.lines, []);
});

Deno.test("a transform holds its primary until the output is gone, unless it declares otherwise", async () => {
  const declaration = {
    name: NAME,
    primary: Source,
    output: Target,
    plan: (source: Resource<typeof Source>): Plan<typeof Target> => ({
      kind: "write",
      spec: { linkId: source.spec.managementAddress },
    }),
  };
  await using keeping = startHarness(defineController(declaration));
  await keeping.create(Source, "a", {});
  await keeping.eventually(Target, "a");
  await keeping.eventually(Source, "a", hasFinalizers(NAME));
  await keeping.teardown(Source, "a");
  await keeping.eventually(Source, "a", hasFinalizers());
  await keeping.eventuallyGone(Target, "a");

  await using loose = startHarness(defineController({ ...declaration, keepsPrimary: false }));
  await loose.create(Source, "a", {});
  await loose.eventually(Target, "a");
  await loose.eventually(Source, "a", hasFinalizers());
  await loose.destroy(Source, "a");
  await loose.eventuallyGone(Target, "a");
});

Deno.test("plansTeardown lets plan decide about a primary that is tearing down", async () => {
  const controller = defineController({
    name: NAME,
    primary: Source,
    mapped: [sameId(Extra)],
    output: Target,
    plansTeardown: true,
    gather: async (source, reader) => ({ extra: await reader.find(Extra, source.metadata.id) }),
    plan: ({ metadata }, { extra }): Plan<typeof Target> => {
      if (metadata.phase === "running") return { kind: "write", spec: { linkId: "up" } };
      if (extra === undefined) return { kind: "destroy", reason: "nothing is left" };
      return { kind: "write", spec: { linkId: "going down" }, waiting: "extra still exists" };
    },
  });
  await using harness = startHarness(controller);
  await harness.create(Extra, "a", {});
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "up"));
  await harness.teardown(Source, "a");
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "going down"));
  await harness.eventuallyWaits(
    NAME,
    "a",
    ({ reason }) => strictEqual(reason, "extra still exists"),
  );
  await harness.eventually(Source, "a", hasFinalizers(NAME));
  await harness.destroy(Extra, "a");
  await harness.eventuallyGone(Target, "a");
  await harness.eventually(Source, "a", hasFinalizers());
});

Deno.test("held() keeps an input alive until the effect that needs it is undone", async () => {
  const order: string[] = [];
  const controller = defineController({
    name: NAME,
    primary: Source,
    mapped: [held(Extra)],
    output: Target,
    gather: async (source, reader) => ({ extra: await reader.find(Extra, source.metadata.id) }),
    plan: (_source, { extra }): Plan<typeof Target, string> =>
      extra === undefined ? wait("extra does not exist") : {
        kind: "write",
        action: extra.spec.lastEndpoint,
        spec: { linkId: extra.spec.lastEndpoint },
      },
    act: (_source, endpoint) => Promise.resolve(void order.push(`act ${endpoint}`)),
    finalize: (_source, { facts }) =>
      Promise.resolve(void order.push(`finalize ${facts.extra?.spec.lastEndpoint}`)),
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", {});
  await harness.eventuallyWaits(NAME, "a");
  await harness.eventually(Source, "a", hasFinalizers());
  await harness.create(Extra, "a", { lastEndpoint: "one" });
  await harness.eventually(Target, "a");
  await harness.eventually(Extra, "a", hasFinalizers(NAME));

  await harness.teardown(Extra, "a");
  await harness.eventually(Extra, "a", hasFinalizers());
  await harness.eventuallyGone(Target, "a");
  deepStrictEqual(order, ["act one", "finalize one"]);
  await harness.destroy(Extra, "a");

  await harness.create(Extra, "a", { lastEndpoint: "two" });
  await harness.eventually(Target, "a");
  await harness.teardown(Source, "a");
  await harness.eventually(Source, "a", hasFinalizers());
  await harness.eventually(Extra, "a", hasFinalizers());
  deepStrictEqual(order, ["act one", "finalize one", "act two", "finalize two"]);
});

Deno.test("the engine releases a held input whose primary vanished while it was stopped", async () => {
  const controller = defineController({
    name: NAME,
    primary: Source,
    mapped: [held(Extra)],
    output: Target,
    plan: (): Plan<typeof Target> => ({ kind: "write", spec: {} }),
  });
  await using harness = startHarness(controller);
  await harness.create(Extra, "a", {});
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  await harness.stop();
  await harness.update(Source, "a", ({ spec }) => spec, { finalizers: [] });
  await harness.destroy(Source, "a");
  await harness.restart();
  await harness.eventuallyGone(Target, "a");
  await harness.eventually(Extra, "a", ({ metadata }) => deepStrictEqual(metadata.finalizers, []));
});

Deno.test("a chain is taken down from its end", async () => {
  const order: string[] = [];
  const first = defineController({
    name: "test.FirstController",
    primary: Source,
    output: Target,
    plan: (): Plan<typeof Target> => ({ kind: "write", spec: { linkId: "x" } }),
    finalize: () => Promise.resolve(void order.push("first")),
  });
  const second = defineController({
    name: "test.SecondController",
    primary: Target,
    output: Derived,
    plan: (): Plan<typeof Derived> => ({ kind: "write", spec: { backendVersion: "x" } }),
    finalize: () => Promise.resolve(void order.push("second")),
  });
  await using harness = startHarness(first, second);
  await harness.create(Source, "a", {});
  await harness.eventually(Derived, "a");
  await harness.teardown(Source, "a");
  await harness.eventually(Source, "a", hasFinalizers());
  await harness.eventuallyGone(Derived, "a");
  await harness.eventuallyGone(Target, "a");
  deepStrictEqual(order, ["second", "first"]);
});
