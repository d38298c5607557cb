// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
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
