// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import {
  ControllerSpecSchema,
  ControllerWaitSpecSchema,
} from "../../proto/gen/batuta/engine_pb.ts";
import { defineController, type Plan, sameId, wait } from "../controller.ts";
import { defineResource } from "../resource.ts";
import { startHarness } from "../testing.ts";
import type { StatusTypes } from "./status_publisher.ts";
import { Extra, Source, Target } from "./test_types.ts";

const TYPES: StatusTypes = {
  controllers: defineResource({
    type: "Controllers.test",
    namespace: "ephemeral",
    schema: ControllerSpecSchema,
    access: "readOnly",
  }),
  waits: defineResource({
    type: "Waits.test",
    namespace: "ephemeral",
    schema: ControllerWaitSpecSchema,
    access: "readOnly",
  }),
  itemTypeLabel: "test/type",
  itemIdLabel: "test/id",
};

const CONTROLLER = defineController({
  name: "test.CopyController",
  primary: Source,
  mapped: [sameId(Extra)],
  output: Target,
  gather: async ({ metadata }, reader) => ({ extra: await reader.find(Extra, metadata.id) }),
  plan: (_source, { extra }): Plan<typeof Target> => {
    if (extra === undefined) return wait("extra is missing");
    if (extra.spec.lastEndpoint === "bad") throw new Error("cannot use jointoken=secret here");
    return { kind: "write", spec: {} };
  },
});

Deno.test("the engine shows what its items wait for until they are done", async () => {
  await using harness = startHarness(CONTROLLER, { shows: TYPES });
  await harness.create(Source, "a", {});
  const key = "test.CopyController/a";
  const { metadata, spec } = await harness.eventually(TYPES.waits, key);
  deepStrictEqual(metadata.labels, { "test/type": "Sources.test", "test/id": "a" });
  strictEqual(spec.reason, "extra is missing");
  strictEqual(spec.state, "waiting");
  ok(spec.since !== undefined);
  await harness.create(Extra, "a", { lastEndpoint: "bad" });
  const stopped = await harness.eventually(
    TYPES.waits,
    key,
    ({ spec }) => strictEqual(spec.state, "stopped"),
  );
  ok(stopped.spec.reason.includes("jointoken=REDACTED"), stopped.spec.reason);
  await harness.update(Extra, "a", { lastEndpoint: "good" });
  await harness.eventuallyGone(TYPES.waits, key);
});

Deno.test("the engine shows a call that takes long", async () => {
  const gate = Promise.withResolvers<void>();
  const controller = defineController({
    name: "test.SlowController",
    primary: Source,
    output: Target,
    plan: (): Plan<typeof Target, string> => ({ kind: "write", action: "go", spec: {} }),
    act: () => gate.promise,
  });
  await using harness = startHarness(controller, { shows: TYPES });
  await harness.create(Source, "a", {});
  const { spec } = await harness.eventually(TYPES.waits, "test.SlowController/a");
  strictEqual(spec.state, "acting");
  gate.resolve();
  await harness.eventuallyGone(TYPES.waits, "test.SlowController/a");
});

Deno.test("the engine takes back what it showed before a restart", async () => {
  await using harness = startHarness(CONTROLLER, { shows: TYPES });
  await harness.create(Source, "a", {});
  await harness.eventually(TYPES.waits, "test.CopyController/a");
  await harness.stop();
  await harness.create(Extra, "a", { lastEndpoint: "good" });
  await harness.restart();
  await harness.eventuallyGone(TYPES.waits, "test.CopyController/a");
});

Deno.test("the engine shows what its controllers read and write", async () => {
  await using harness = startHarness(CONTROLLER, { shows: TYPES });
  const { spec } = await harness.eventually(TYPES.controllers, "test.CopyController");
  strictEqual(spec.shape, "transform");
  strictEqual(spec.primary?.type, "Sources.test");
  strictEqual(spec.output?.type, "Targets.test");
  deepStrictEqual(spec.inputs.map(({ kind, rule }) => [kind?.type, rule]), [
    ["Extras.test", "sameId"],
  ]);
});
