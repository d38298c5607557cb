// SPDX-License-Identifier: AGPL-3.0-or-later

/** Makes a Machine of every machine that has a Link. @module */

import { type Controller, defineController, type Plan } from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { LABEL_MACHINE_ADDRESS } from "../../resources/labels.ts";
import { Link } from "../../resources/link/link.ts";
import { Machine } from "../../resources/machine/machine.ts";

/** Creates the controller. */
export function machineController(): Controller {
  return defineController({
    name: "machine.MachineController",
    primary: Link,
    output: Machine,
    plan: planMachine,
  });
}

/** Derives the Machine of a Link. */
export function planMachine({ spec }: Resource<typeof Link>): Plan<typeof Machine> {
  const address = addressOf(spec.nodeSubnet);
  return {
    kind: "write",
    spec: {
      managementAddress: address,
      connected: spec.connected,
      useGrpcTunnel: spec.virtualAddrport !== "",
    },
    labels: { [LABEL_MACHINE_ADDRESS]: address },
  };
}

/** The address in a `address/length` text. */
export function addressOf(subnet: string): string {
  return subnet.split("/")[0] ?? "";
}
