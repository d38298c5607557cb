// SPDX-License-Identifier: AGPL-3.0-or-later

/** Failures: retried, given up, counted, survived. @module */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import {
  type Controller,
  defineController,
  type Plan,
  sameId,
  TerminalError,
  wait,
} from "../controller.ts";
import { startHarness } from "../testing.ts";
import type { State } from "../state/state.ts";
import { faultyState } from "../test_faults.ts";
import { noMetrics } from "./metrics.ts";
import { Extra, Source, Target } from "./test_types.ts";

const NAME = "test.FailController";

/** An effect whose `act` is a parameter. */
function acting(
  act: (id: string, signal: AbortSignal) => Promise<void>,
  options: { readonly concurrency?: number; readonly actTimeoutMs?: number } = {},
): Controller {
  return defineController({
    name: NAME,
    primary: Source,
    mapped: [sameId(Extra)],
    output: Target,
    ...options,
    plan: ({ spec }): Plan<typeof Target, string> => ({
      kind: "write",
      action: "go",
      spec: { linkId: spec.managementAddress },
    }),
    act: ({ metadata }, _action, { signal }) => act(metadata.id, signal),
  });
}

Deno.test("the engine repeats an act that fails, and shows why", async () => {
  let calls = 0;
  const gate = Promise.withResolvers<void>();
  await using harness = startHarness(
    acting(async () => {
      calls += 1;
      if (calls === 4) await gate.promise;
      if (calls < 4) throw new CodedError("unavailable", "Cannot reach the machine");
    }),
  );
  await harness.create(Source, "a", {});
  const seen = await harness.eventuallyWaits(NAME, "a", ({ attempts }) => strictEqual(attempts, 3));
  strictEqual(seen.state, "failing");
  strictEqual(seen.reason, "Cannot reach the machine");
  strictEqual(await harness.find(Target, "a"), undefined);
  gate.resolve();
  await harness.eventually(Target, "a");
  await harness.settled();
  strictEqual((await harness.find(Target, "a"))?.metadata.version, 1);
});

Deno.test("a changed input ends the back-off", async () => {
  let calls = 0;
  await using harness = startHarness(
    acting(() => ++calls < 2 ? Promise.reject(new Error("no")) : Promise.resolve()),
    { backoff: { initialMs: 3_600_000, maximumMs: 3_600_000 } },
  );
  await harness.create(Source, "a", {});
  await harness.eventuallyWaits(NAME, "a");
  await harness.create(Extra, "a", {});
  await harness.eventually(Target, "a");
  strictEqual(calls, 2);
});

Deno.test("a TerminalError is final until an input changes", async () => {
  const calls = new Map<string, number>();
  const controller = defineController({
    name: NAME,
    primary: Source,
    mapped: [sameId(Extra)],
    output: Target,
    plan: (): Plan<typeof Target, string> => ({ kind: "write", action: "go", spec: {} }),
    act: ({ metadata: { id } }) => {
      const call = (calls.get(id) ?? 0) + 1;
      calls.set(id, call);
      if (id === "a" && call === 1) return Promise.reject(new TerminalError("bad disk"));
      return Promise.resolve({ linkId: `${call}` });
    },
  });
  await using harness = startHarness(controller, { resyncMs: 5 });
  await harness.create(Source, "a", {});
  await harness.create(Source, "b", {});
  const { state, reason } = await harness.eventuallyWaits(NAME, "a");
  strictEqual(state, "stopped");
  strictEqual(reason, "bad disk");
  // The other item shows that resyncs came.
  await harness.eventually(Target, "b", ({ spec }) => ok(Number(spec.linkId) > 4));
  strictEqual(calls.get("a"), 1);
  await harness.create(Extra, "a", {});
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "2"));
});

Deno.test("a plan that throws stops its item alone and is counted", async () => {
  const crashes: string[] = [];
  const controller = defineController({
    name: NAME,
    primary: Source,
    mapped: [sameId(Extra)],
    output: Target,
    plan: ({ spec }): Plan<typeof Target> => {
      if (spec.managementAddress === "bad") throw new TypeError("undefined is not a cluster");
      return { kind: "write", spec: { linkId: spec.managementAddress } };
    },
  });
  await using harness = startHarness(controller, {
    metrics: { ...noMetrics, countCrash: (name) => void crashes.push(name) },
  });
  await harness.create(Source, "a", { managementAddress: "bad" });
  await harness.create(Source, "b", { managementAddress: "good" });
  const { state, reason } = await harness.eventuallyWaits(NAME, "a");
  strictEqual(state, "stopped");
  ok(reason.includes("undefined is not a cluster"), reason);
  await harness.eventually(Target, "b");
  deepStrictEqual(crashes, [NAME]);
  await harness.update(Source, "a", { managementAddress: "good" });
  await harness.eventually(Target, "a");
});

Deno.test("an action without an act is a broken invariant", async () => {
  const controller = defineController({
    name: NAME,
    primary: Source,
    output: Target,
    plan: (): Plan<typeof Target, string> => ({ kind: "write", action: "go", spec: {} }),
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", {});
  const { state } = await harness.eventuallyWaits(NAME, "a");
  strictEqual(state, "stopped");
});

Deno.test("the signal ends an act that takes too long", async () => {
  let calls = 0;
  await using harness = startHarness(
    acting(
      (_id, signal) =>
        ++calls > 1
          ? Promise.resolve()
          : new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason))
          ),
      { actTimeoutMs: 5 },
    ),
  );
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  strictEqual(calls, 2);
});

Deno.test("the signal ends an act when the engine stops", async () => {
  const began = Promise.withResolvers<void>();
  let reason: unknown;
  await using harness = startHarness(
    acting((_id, signal) => {
      began.resolve();
      return new Promise((_resolve, reject) =>
        signal.addEventListener("abort", () => {
          reason = signal.reason;
          reject(signal.reason);
        })
      );
    }),
  );
  await harness.create(Source, "a", {});
  await began.promise;
  await harness.stop();
  ok(reason !== undefined);
});

Deno.test("an act that does not listen to its signal holds up the end only for a while", async () => {
  const began = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const lines: string[] = [];
  const log = (message: string): void => void lines.push(message);
  await using harness = startHarness(
    acting(() => {
      began.resolve();
      return gate.promise;
    }),
    { stopMs: 5, logger: { debug: log, info: log, warn: log, error: log } },
  );
  await harness.create(Source, "a", {});
  await began.promise;
  await harness.stop();
  gate.resolve();
  deepStrictEqual(lines, ["controllers did not stop in time"]);
});

Deno.test("one item is never in work twice, and no more items than declared", async () => {
  const inWork = new Set<string>();
  let most = 0;
  let twice = false;
  await using harness = startHarness(
    acting(async (id) => {
      twice ||= inWork.has(id);
      inWork.add(id);
      most = Math.max(most, inWork.size);
      for (let turn = 0; turn < 10; turn++) await Promise.resolve();
      inWork.delete(id);
    }, { concurrency: 3 }),
  );
  const ids = Array.from({ length: 12 }, (_, at) => `m${at}`);
  await harness.stop();
  for (const id of ids) await harness.create(Source, id, {});
  await harness.restart();
  for (let round = 0; round < 5; round++) {
    for (const id of ids) {
      await harness.update(Source, id, { managementAddress: `${round}` });
    }
  }
  for (const id of ids) {
    await harness.eventually(Target, id, ({ spec }) => strictEqual(spec.linkId, "4"));
  }
  strictEqual(twice, false);
  strictEqual(most, 3);
});

Deno.test("wait() looks again after its time without any change", async () => {
  let looks = 0;
  const controller = defineController({
    name: NAME,
    primary: Source,
    output: Target,
    plan: (): Plan<typeof Target> =>
      ++looks < 3 ? wait("not yet", { retryAfterMs: 1 }) : { kind: "write", spec: {} },
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  strictEqual(looks, 3);
});

Deno.test("a write plan shows what is still missing and looks again after its time", async () => {
  let looks = 0;
  const controller = defineController({
    name: NAME,
    primary: Source,
    output: Target,
    plan: (): Plan<typeof Target> => {
      looks += 1;
      const spec = { linkId: `${Math.min(looks, 3)}` };
      return looks < 3
        ? { kind: "write", spec, waiting: "not all machines are ready", retryAfterMs: 1 }
        : { kind: "write", spec };
    },
  });
  await using harness = startHarness(controller);
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "3"));
  await harness.settled();
  strictEqual(looks, 3);
});

/** A state whose next calls of one verb fail. */
function failing(state: State, verb: keyof State, errors: Error[]): State {
  return faultyState(state, {
    before: (call) => {
      const error = call.verb === verb ? errors.shift() : undefined;
      if (error !== undefined) throw error;
    },
  });
}

Deno.test("a lost race is repeated without a trace", async () => {
  const errors = [
    new CodedError("conflict", "version 1 is not 2"),
    new CodedError("conflict", "version 1 is not 2"),
  ];
  const lines: string[] = [];
  const log = (message: string): void => void lines.push(message);
  await using harness = startHarness(acting(() => Promise.resolve()), {
    wrap: (state) => failing(state, "create", errors),
    logger: { debug: log, info: log, warn: log, error: log },
  });
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  deepStrictEqual(lines, []);
  strictEqual(errors.length, 0);
});

Deno.test("an act whose result was not written is carried out again", async () => {
  let calls = 0;
  const errors = [new CodedError("unavailable", "disk is full")];
  await using harness = startHarness(acting(() => Promise.resolve(void (calls += 1))), {
    wrap: (state) => failing(state, "create", errors),
  });
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  strictEqual(calls, 2);
});

Deno.test("a resync finds what no event told", async () => {
  let world = "x";
  const controller = defineController({
    name: NAME,
    primary: Source,
    output: Target,
    gather: () => Promise.resolve({ world }),
    plan: (_source, { world }): Plan<typeof Target> => ({ kind: "write", spec: { linkId: world } }),
  });
  await using harness = startHarness(controller, { resyncMs: 5 });
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "x"));
  world = "y";
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "y"));
});
