// SPDX-License-Identifier: AGPL-3.0-or-later

import { ok, strictEqual } from "node:assert/strict";
import { Derived, Extra, PARENT, Source, Target } from "../cosi/runtime/test_types.ts";
import { byLabel, defineController, held, type Plan, readOnly, wait } from "../cosi/controller.ts";
import { defineCollector, type Observation } from "../cosi/collector.ts";
import { GRAPH_FILE, renderGraph } from "./graph.ts";

const CONTROLLERS = [
  defineController({
    name: "test.EffectController",
    primary: Source,
    mapped: [byLabel(Extra, PARENT), held(Extra), readOnly(Target)],
    outputs: Target,
    plan: () => wait("never"),
    finalize: () => Promise.resolve(),
  }),
  defineCollector({
    name: "other.SeenCollector",
    output: Derived,
    observe: async function* (): AsyncGenerator<Observation<string>> {},
    plan: (): Plan<typeof Derived> => wait("never"),
  }),
];

Deno.test("renderGraph() draws one arrow a type and tells every rule in the table", () => {
  const text = renderGraph(CONTROLLERS);
  const lines = text.split("\n");
  for (
    const line of [
      "## other",
      "## test",
      "  c_test_EffectController([EffectController])",
      "  t_Sources_test ==> c_test_EffectController",
      "  t_Targets_test -.-> c_test_EffectController",
      "  c_test_EffectController --> t_Targets_test",
      "| `other.SeenCollector` | collector | observations |  | Deriveds |",
    ]
  ) ok(lines.includes(line), line);
  strictEqual(
    lines.filter((line) => line === "  t_Extras_test --> c_test_EffectController").length,
    1,
  );
  ok(text.includes("Extras: its `test/parent` names the primary<br>Extras: same ID, held"), text);
});

Deno.test("renderGraph() does not depend on the order of the catalogue", () => {
  strictEqual(renderGraph(CONTROLLERS), renderGraph(CONTROLLERS.toReversed()));
});

Deno.test("the graph is written where the gate looks for it", () => {
  ok(GRAPH_FILE.startsWith("docs/generated/"));
});
