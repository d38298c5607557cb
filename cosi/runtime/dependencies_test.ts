// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, throws } from "node:assert/strict";
import { defineController, held, type Plan, wait } from "../controller.ts";
import type { ResourceType } from "../resource.ts";
import { findConflicts, requireCompatible } from "./dependencies.ts";
import { Derived, Extra, Source, Target } from "./test_types.ts";

function writing(name: string, output: ResourceType, primary: ResourceType = Source) {
  return defineController({
    name,
    primary,
    output,
    plan: (): Plan<ResourceType> => wait("never"),
  });
}

Deno.test("findConflicts() accepts controllers with names and outputs of their own", () => {
  deepStrictEqual(
    findConflicts([writing("test.AController", Target), writing("test.BController", Derived)]),
    [],
  );
});

Deno.test("findConflicts() names a second writer of a type and a name used twice", () => {
  deepStrictEqual(
    findConflicts([writing("test.AController", Target), writing("test.AController", Target)]),
    [
      'controller name "test.AController" is used twice',
      '"Targets.test" is written by "test.AController" and by "test.AController"',
    ],
  );
});

Deno.test("findConflicts() refuses names and inputs that cannot work", () => {
  deepStrictEqual(findConflicts([writing("Peer", Target)]), [
    'controller name "Peer" is not like "area.NounController"',
  ]);
  deepStrictEqual(findConflicts([writing("test.LoopController", Source)]), [
    'controller "test.LoopController" writes its own primary "Sources.test"',
  ]);
  const holder = defineController({
    name: "test.HoldController",
    primary: Source,
    mapped: [held(Extra), held(Target)],
    output: Target,
    concurrency: 0,
    plan: () => wait("never"),
  });
  deepStrictEqual(findConflicts([holder]), [
    'controller "test.HoldController" has concurrency 0, expected 1 or more',
    'controller "test.HoldController" holds its own output "Targets.test"',
  ]);
});

Deno.test("requireCompatible() tells all problems at once", () => {
  throws(
    () => requireCompatible([writing("Peer", Target), writing("peer", Target)]),
    /"Peer" is not like .*"peer" is not like .*written by "Peer" and by "peer"/,
  );
});
