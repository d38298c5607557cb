// SPDX-License-Identifier: AGPL-3.0-or-later

import { rejects, strictEqual } from "node:assert/strict";
import { create, toBinary } from "@bufbuild/protobuf";
import { codeOf } from "../base/errors.ts";
import { openState } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import {
  MachineStatusEvent_MachineStage as Stage,
  MachineStatusEventSchema,
} from "../proto/gen/talos/machine_pb.ts";
import { LABEL_MACHINE_ADDRESS } from "../resources/labels.ts";
import { Machine } from "../resources/machine/machine.ts";
import { MachineStatusSnapshot } from "../resources/machine/machine_status_snapshot.ts";
import { createMachineReports } from "./machine_reports.ts";
import { putResource } from "./put_resource.ts";
import { peekResource } from "./typed_state.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const ADDRESS = "fdae::2";

async function startFixture() {
  const state = await openState({ store: openMemoryStore() });
  await putResource(state, Machine, {
    id: ID,
    spec: {},
    labels: { [LABEL_MACHINE_ADDRESS]: ADDRESS },
  });
  const stored = new Set<string>();
  const store = { isFull: false };
  const reports = createMachineReports(state, {
    hasEvent: (_machine, id) => Promise.resolve(stored.has(id)),
    putEvent: (_machine, id) => {
      if (store.isFull) return Promise.reject(new Error("disk full"));
      stored.add(id);
      return Promise.resolve();
    },
    putLogLine: () => Promise.resolve(),
  });
  return {
    reports,
    store,
    publish: (id: string, stage: Stage) =>
      reports.publish(ADDRESS, {
        id,
        typeUrl: "type.googleapis.com/machine.MachineStatusEvent",
        value: toBinary(MachineStatusEventSchema, create(MachineStatusEventSchema, { stage })),
      }),
    stage: () => peekResource(state, MachineStatusSnapshot, ID)?.spec.machineStatus?.stage,
    [Symbol.asyncDispose]: () => state.close(),
  };
}

Deno.test("an event that is delivered again does not bring an old status back", async () => {
  await using fixture = await startFixture();
  await fixture.publish("1", Stage.MAINTENANCE);
  await fixture.publish("2", Stage.RUNNING);
  await fixture.publish("1", Stage.MAINTENANCE);
  strictEqual(fixture.stage(), Stage.RUNNING);
});

Deno.test("an event that could not be stored counts when it comes again", async () => {
  await using fixture = await startFixture();
  await fixture.publish("1", Stage.MAINTENANCE);
  fixture.store.isFull = true;
  await rejects(fixture.publish("2", Stage.RUNNING));
  fixture.store.isFull = false;
  await fixture.publish("2", Stage.RUNNING);
  strictEqual(fixture.stage(), Stage.RUNNING);
});

Deno.test("an event from an address that is no machine's is refused", async () => {
  await using fixture = await startFixture();
  const event = { id: "1", typeUrl: "", value: new Uint8Array() };
  await rejects(
    fixture.reports.publish("fdae::3", event),
    (error) => codeOf(error) === "permissionDenied",
  );
});
