// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import { type LogFields, silentLogger } from "../../base/log.ts";
import { faultyState } from "../test_faults.ts";
import { startHarness } from "../testing.ts";
import { Source, Target } from "./test_types.ts";

Deno.test("the destroyer removes what a user tore down once nobody holds it", async () => {
  const errors = [new CodedError("unavailable", "disk is full")];
  await using harness = startHarness({
    destroys: [Source],
    wrap: (state) =>
      faultyState(state, {
        before: ({ verb }) => {
          const error = verb === "destroy" ? errors.shift() : undefined;
          if (error !== undefined) throw error;
        },
      }),
  });
  await harness.create(Source, "a", {}, { finalizers: ["somebody"] });
  await harness.teardown(Source, "a");
  await harness.settled();
  strictEqual((await harness.find(Source, "a"))?.metadata.phase, "tearingDown");
  await harness.update(Source, "a", ({ spec }) => spec, { finalizers: [] });
  await harness.eventuallyGone(Source, "a");
  strictEqual(errors.length, 0);
});

Deno.test("the destroyer finds at the start what was torn down before", async () => {
  await using harness = startHarness({ destroys: [Source] });
  await harness.stop();
  await harness.create(Source, "a", {});
  await harness.teardown(Source, "a");
  await harness.restart();
  await harness.eventuallyGone(Source, "a");
});

Deno.test("the destroyer leaves alone what has an owner, another type or no mark", async () => {
  await using harness = startHarness({ destroys: [Source] });
  await harness.create(Source, "owned", {}, { owner: "somebody" });
  await harness.teardown(Source, "owned");
  await harness.create(Target, "other", {});
  await harness.teardown(Target, "other");
  await harness.create(Source, "running", {});
  await harness.settled();
  await harness.eventually(Source, "owned");
  await harness.eventually(Target, "other");
  await harness.eventually(Source, "running");
});

Deno.test("the destroyer counts failures afresh after somebody else was faster", async () => {
  const errors = [
    new CodedError("unavailable", "disk is full"),
    new CodedError("conflict", "it has finalizers"),
    new CodedError("unavailable", "disk is full"),
  ];
  const lost = Promise.withResolvers<void>();
  const attempts: (number | undefined)[] = [];
  const warn = (_: string, { attempt }: LogFields = {}): void => void attempts.push(attempt);
  await using harness = startHarness({
    destroys: [Source],
    logger: { ...silentLogger, warn },
    wrap: (state) =>
      faultyState(state, {
        before: ({ verb }) => {
          const error = verb === "destroy" ? errors.shift() : undefined;
          if (error?.code === "conflict") lost.resolve();
          if (error !== undefined) throw error;
        },
      }),
  });
  await harness.create(Source, "a", {});
  await harness.teardown(Source, "a");
  await lost.promise;
  await harness.settled();
  await harness.update(Source, "a", ({ spec }) => spec, { labels: { again: "" } });
  await harness.eventuallyGone(Source, "a");
  deepStrictEqual(attempts, [1, 1]);
});
