// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Metadata, ResourceType } from "../cosi/resource.ts";
import { CodedError } from "../base/errors.ts";
import { RawResource } from "../cosi/state/raw_resource.ts";
import { Controller } from "../resources/system/controller.ts";
import { ControllerWait } from "../resources/system/controller_wait.ts";
import { Link } from "../resources/link/link.ts";
import { Machine } from "../resources/machine/machine.ts";
import { MachineStatus } from "../resources/machine/machine_status.ts";
import { explain, type ExplainedState, renderExplanation } from "./explain.ts";

const NOW_MS = 1_000_000_000;

/** A state as a server would show it: Link → Machine → MachineStatus. */
function openWorld(): FakeState {
  const resources: RawResource[] = [];
  const state: FakeState = {
    resources,
    get: ({ type, id }) => {
      const found = resources.find(({ metadata }) => metadata.type === type && metadata.id === id);
      return found === undefined
        ? Promise.reject(new CodedError("notFound", `${type} ${id} does not exist`))
        : Promise.resolve(found);
    },
    list: ({ type }) => Promise.resolve(resources.filter(({ metadata }) => metadata.type === type)),
  };
  declare(state, "machine.MachineController", Link, Machine);
  declare(state, "machine.MachineStatusController", Machine, MachineStatus);
  return state;
}

interface FakeState extends ExplainedState {
  readonly resources: RawResource[];
}

function declare(
  state: FakeState,
  name: string,
  primary: ResourceType,
  output: ResourceType,
): void {
  const kind = ({ namespace, type }: ResourceType) => ({ namespace, type });
  put(state, Controller, name, {
    shape: "transform",
    primary: kind(primary),
    output: kind(output),
  });
}

function put<T extends ResourceType>(
  state: FakeState,
  { namespace, type, schema }: T,
  id: string,
  spec: MessageInitShape<T["schema"]>,
  change: Partial<Metadata> = {},
): void {
  const metadata: Metadata = {
    namespace,
    type,
    id,
    version: 1,
    owner: "",
    phase: "running",
    created: undefined,
    updated: undefined,
    finalizers: [],
    labels: {},
    annotations: {},
    ...change,
  };
  const protoSpec = toBinary(schema, create(schema, spec));
  state.resources.push(new RawResource(metadata, protoSpec));
}

function putWait(
  state: FakeState,
  controller: string,
  type: ResourceType,
  id: string,
  reason: string,
  waitState = "waiting",
): void {
  put(state, ControllerWait, `${controller}/${id}`, {
    controller,
    itemType: type.type,
    itemId: id,
    state: waitState,
    reason,
    since: timestampFromMs(NOW_MS - 180_000),
  });
}

async function textOf(state: FakeState, type: ResourceType, id: string): Promise<string[]> {
  const ref = { namespace: type.namespace, type: type.type, id };
  return renderExplanation(await explain(state, ref, NOW_MS)).split("\n");
}

Deno.test("explain() follows what is missing up to where the chain begins", async () => {
  const state = openWorld();
  deepStrictEqual(await textOf(state, MachineStatus, "m"), [
    'MachineStatuses.omni.sidero.dev "m" does not exist',
    "  machine.MachineStatusController writes it for the Machines.omni.sidero.dev of the same ID",
    '    Machines.omni.sidero.dev "m" does not exist',
    "      machine.MachineController writes it for the Links.omni.sidero.dev of the same ID",
    '        Links.omni.sidero.dev "m" does not exist, and no controller makes it',
    "In the way:",
    '  Links.omni.sidero.dev "m" does not exist, and no controller makes it',
    "",
  ]);
});

Deno.test("explain() names the wait of the item that something missing is made of", async () => {
  const state = openWorld();
  put(state, Link, "m", {});
  putWait(state, "machine.MachineController", Link, "m", "link has no address");
  const lines = await textOf(state, Machine, "m");
  strictEqual(
    lines.at(-2),
    "  machine.MachineController has waited for 3m: link has no address",
  );
});

Deno.test("explain() tells why a controller makes nothing of what there is", async () => {
  const state = openWorld();
  put(state, Link, "m", {});
  putWait(state, "machine.MachineController", Link, "m", "it is not accepted", "declined");
  deepStrictEqual((await textOf(state, Machine, "m")).slice(-3), [
    "In the way:",
    "  machine.MachineController makes nothing of it: it is not accepted",
    "",
  ]);
  ok((await textOf(state, Link, "m")).includes("Nothing waits for anything."));
});

Deno.test("explain() goes down to what is made of a resource while something waits there", async () => {
  const state = openWorld();
  put(state, Link, "m", {});
  put(state, Machine, "m", {}, { owner: "machine.MachineController" });
  putWait(state, "machine.MachineStatusController", Machine, "m", "no answer");
  const lines = await textOf(state, Link, "m");
  strictEqual(lines[0], 'Links.omni.sidero.dev "m" exists (version 1)');
  ok(
    lines.includes("  machine.MachineStatusController has waited for 3m: no answer"),
    lines.join(),
  );
});

Deno.test("explain() names who holds what is being removed", async () => {
  const state = openWorld();
  put(state, Link, "m", {}, {
    phase: "tearingDown",
    finalizers: ["machine.MachineController", "stranger"],
  });
  const lines = await textOf(state, Link, "m");
  ok(lines[0]?.includes("held by machine.MachineController, stranger"), lines.join());
  ok(lines.includes("  stranger holds it, which is no controller of this server"), lines.join());
});

Deno.test("explain() says so when nothing waits", async () => {
  const state = openWorld();
  put(state, Link, "m", {});
  deepStrictEqual(await textOf(state, Link, "m"), [
    'Links.omni.sidero.dev "m" exists (version 1)',
    "Nothing waits for anything.",
    "",
  ]);
});
