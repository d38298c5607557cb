// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { defineController, type Plan } from "../controller.ts";
import { startHarness } from "../testing.ts";
import { Source, Target } from "./test_types.ts";
import { createTracer, denoTracer, noTracer } from "./tracing.ts";

Deno.test("the engine puts spans around reconciles and calls, with their failures", async () => {
  const spans: string[] = [];
  const tracer = createTracer({
    startActiveSpan: (name, { attributes }, work) => {
      let status = "ok";
      return work({
        setStatus: ({ message }) => void (status = message ?? ""),
        end: () => void spans.push(`${name} ${attributes.id} ${status}`),
      });
    },
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

Deno.test("denoTracer() makes no spans unless the environment asks for them", () => {
  strictEqual(denoTracer({ get: () => undefined }), noTracer);
});
