// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Takes what machines report: events become the machine's snapshot.
 *
 * A sender is known by its tunnel address alone; what a message says of itself names nobody.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { type EventPort, statusOf } from "../link/events.ts";
import type { KernelLogPort } from "../link/kmsg.ts";
import { MachineStatusSnapshotSpec_PowerStage as PowerStage } from "../proto/gen/omni/specs_pb.ts";
import type { MachineStatusEvent } from "../proto/gen/talos/machine_pb.ts";
import { LABEL_MACHINE_ADDRESS } from "../resources/labels.ts";
import { Machine } from "../resources/machine/machine.ts";
import { MachineStatusSnapshot } from "../resources/machine/machine_status_snapshot.ts";
import { putResource } from "./put_resource.ts";
import { listResources, peekResource } from "./typed_state.ts";

/** Keeps what machines report, beside the state. */
export interface ReportStore {
  /** Whether an event is stored: one that the machine delivers again says nothing new. */
  hasEvent(machine: string, id: string): Promise<boolean>;
  /** Stores an event; one that is stored already is not stored again. */
  putEvent(machine: string, id: string, typeUrl: string, value: Uint8Array): Promise<void>;
  /** Stores a line of a kernel log. */
  putLogLine(machine: string, line: string): Promise<void>;
}

/** The ports of the sinks inside the tunnel. */
export interface MachineReports extends EventPort, KernelLogPort {}

/** Creates the ports. */
export function createMachineReports(state: StateCore, store: ReportStore): MachineReports {
  const machineOf = (address: string): string | undefined =>
    listResources(state, Machine, { [LABEL_MACHINE_ADDRESS]: address })[0]?.metadata.id;
  return {
    machineOf,
    append: (machine, line) => store.putLogLine(machine, line),
    publish: async (remoteAddress, event) => {
      const machine = machineOf(remoteAddress);
      if (machine === undefined) {
        throw new CodedError("permissionDenied", "Cannot publish: the address is no machine's");
      }
      const isStorable = event.id !== "" && event.value.length > 0;
      if (isStorable && await store.hasEvent(machine, event.id)) return;
      // The event is stored last: until then it is new when it comes again.
      const machineStatus = statusOf(event);
      if (machineStatus !== undefined) await putStatus(state, machine, machineStatus);
      if (isStorable) await store.putEvent(machine, event.id, event.typeUrl, event.value);
    },
  };
}

async function putStatus(
  state: StateCore,
  machine: string,
  machineStatus: MachineStatusEvent,
): Promise<void> {
  const stored = peekResource(state, MachineStatusSnapshot, machine);
  const { powerStage = PowerStage.NONE, bootId = "" } = stored?.spec ?? {};
  await putResource(state, MachineStatusSnapshot, {
    id: machine,
    spec: { machineStatus, powerStage, bootId },
  });
}
