// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { defineController, type Plan } from "../controller.ts";
import { startHarness } from "../testing.ts";
import { Source, Target } from "./test_types.ts";
import { createTracer, noTracer } from "./tracing.ts";

Deno.test("the engine puts spans around reconciles and calls, with their failures", async () => {
  const spans: string[] = [];
  const tracer = createTracer({
    startSpan(name, { attributes }) {
      let status = "ok";
      return {
        setAttribute: () => {},
        setStatus: ({ message }) => void (status = message ?? ""),
        end: () => void spans.push(`${name} ${attributes.id} ${status}`),
      };
    },
    within: (_span, work) => work(),
  });
  let calls = 0;
  const controller = defineController({
    name: "test.TraceController",
    primary: Source,
    output: Target,
    plan: (): Plan<typeof Target, string> => ({ kind: "write", action: "go", spec: {} }),
    act: () => ++calls === 1 ? Promise.reject(new Error("no answer")) : Promise.resolve(),
  });
  await using harness = startHarness(controller, { tracer });
  await harness.create(Source, "a", {});
  await harness.eventually(Target, "a");
  await harness.settled();
  deepStrictEqual(spans, [
    "act a no answer",
    "reconcile a no answer",
    "act a ok",
    "reconcile a ok",
  ]);
});

Deno.test("createTracer() makes no spans without telemetry", () => {
  strictEqual(createTracer(undefined), noTracer);
});
