// SPDX-License-Identifier: AGPL-3.0-or-later

/** Gives clients the stored kernel log of a machine. @module */

import { create } from "@bufbuild/protobuf";
import { CodedError } from "../../base/errors.ts";
import { parseMachineId } from "../../base/ids.ts";
import type { MachineStore } from "../../link/machine_store.ts";
import { DataSchema } from "../../proto/gen/talos/common_pb.ts";
import type { ManagementHandlers } from "./management.ts";

const encoder = new TextEncoder();

/** The handler of logs; a message holds one line with its newline. */
export function logHandlers(store: Pick<MachineStore, "readLog">): ManagementHandlers {
  return {
    machineLogs: async function* ({ machineId, follow, tailLines }, { signal }) {
      const machine = parseMachineId(machineId);
      if (machine === undefined) {
        throw new CodedError(
          "invalidArgument",
          `Cannot read logs: machine_id must be a UUID: current value is "${machineId}"`,
        );
      }
      // Clients leave the field at zero for everything.
      const tail = tailLines === 0 ? -1 : tailLines;
      for await (const line of store.readLog(machine, { tailLines: tail, follow, signal })) {
        yield create(DataSchema, { bytes: encoder.encode(`${line}\n`) });
      }
    },
  };
}
