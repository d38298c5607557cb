// SPDX-License-Identifier: AGPL-3.0-or-later

/** Watches that are lost, and a subscriber that breaks its promise. @module */

import { rejects, strictEqual } from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import { CodedError } from "../../base/errors.ts";
import { silentLogger } from "../../base/log.ts";
import { type Controller, defineController, type Plan } from "../controller.ts";
import type { ResourceType } from "../resource.ts";
import type { State } from "../state/state.ts";
import { faultyState } from "../test_faults.ts";
import { startHarness } from "../testing.ts";
import { watchKind } from "./kind_watch.ts";
import { noMetrics } from "./metrics.ts";
import { Source, Target } from "./test_types.ts";

const copy: Controller = defineController({
  name: "test.CopyController",
  primary: Source,
  output: Target,
  plan: ({ spec }): Plan<typeof Target> => ({
    kind: "write",
    spec: { linkId: spec.managementAddress },
  }),
});

/** Loses the next events of a type once it is armed. */
function losing(type: ResourceType) {
  let isArmed = false;
  return {
    arm: () => void (isArmed = true),
    wrap: (state: State) =>
      faultyState(state, {
        onEvents: (kind) => {
          if (!isArmed || kind.type !== type.type) return;
          isArmed = false;
          throw new CodedError("resourceExhausted", "Watch overran");
        },
      }),
  };
}

Deno.test("a watch that is lost is opened again, and nothing that happened meanwhile is missed", async () => {
  const { arm, wrap } = losing(Source);
  await using harness = startHarness(copy, { wrap });
  await harness.create(Source, "a", { managementAddress: "x" });
  await harness.eventually(Target, "a");
  await harness.settled();
  arm();
  await harness.create(Source, "b", { managementAddress: "y" });
  await harness.eventually(Target, "b");
  await harness.update(Source, "a", { managementAddress: "z" });
  await harness.eventually(Target, "a", ({ spec }) => strictEqual(spec.linkId, "z"));
});

Deno.test("an output that vanishes while its watch is lost is written again", async () => {
  const { arm, wrap } = losing(Target);
  await using harness = startHarness(copy, { wrap });
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  await harness.settled();
  arm();
  await harness.destroy(Target, "a");
  await harness.eventually(Target, "a");
});

Deno.test("a fault of the state while a watch is opened is survived", async () => {
  let failures = 3;
  await using harness = startHarness(copy, {
    wrap: (state) =>
      faultyState(state, {
        before: ({ verb }) => {
          if (verb === "watchKind" && failures-- > 0) throw new CodedError("unavailable", "no");
        },
      }),
  });
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
});

Deno.test("a broken promise of the engine itself is told to the process", async () => {
  const fatal: unknown[] = [];
  await using harness = startHarness(copy, {
    onFatal: (error) => void fatal.push(error),
    metrics: {
      ...noMetrics,
      countWakeup: () => {
        throw new Error("the engine is broken");
      },
    },
  });
  await harness.create(Source, "a", {});
  await harness.settled();
  strictEqual(fatal.length, 1);
});

Deno.test("watchKind() rejects when a subscriber throws, instead of watching again", async () => {
  await using harness = startHarness(copy);
  const { namespace, type } = Source;
  const watching = watchKind({
    state: await harness.state(),
    kind: { namespace, type },
    subscribers: [{
      onSnapshot: () => {
        throw new Error("the engine is broken");
      },
      onEvent: () => {},
    }],
    clock: systemClock,
    random: () => 0,
    logger: silentLogger,
    signal: new AbortController().signal,
    onReady: () => {},
  });
  await rejects(watching, /Subscriber of a watch threw/);
});
