// SPDX-License-Identifier: AGPL-3.0-or-later

/** Collects what the install image of a machine is named after. @module */

import {
  type Controller,
  defineController,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { MachineConfigGenOption } from "../../resources/config/machine_config_gen_option.ts";
import { MachineStatus } from "../../resources/machine/machine_status.ts";
import { ClusterMachineTalosVersion } from "../../resources/talos/cluster_machine_talos_version.ts";

/** What the options follow from besides the machine. */
export interface GenOptionsFacts {
  readonly wanted: Resource<typeof ClusterMachineTalosVersion> | undefined;
}

/** Creates the controller. */
export function machineConfigGenOptionsController(): Controller {
  return defineController({
    name: "config.MachineConfigGenOptionsController",
    primary: MachineStatus,
    mapped: [sameId(ClusterMachineTalosVersion)],
    output: MachineConfigGenOption,
    gather: async ({ metadata: { id } }, reader: Reader<typeof ClusterMachineTalosVersion>) => ({
      wanted: await reader.find(ClusterMachineTalosVersion, id),
    }),
    plan: planMachineConfigGenOptions,
  });
}

/** Collects the facts of the install image; a machine outside a cluster names no version. */
export function planMachineConfigGenOptions(
  { spec }: Resource<typeof MachineStatus>,
  { wanted }: GenOptionsFacts,
): Plan<typeof MachineConfigGenOption> {
  return {
    kind: "write",
    spec: {
      installImage: {
        talosVersion: wanted?.spec.talosVersion ?? "",
        schematicId: wanted?.spec.schematicId ?? "",
        schematicInitialized: spec.schematic !== undefined,
        schematicInvalid: spec.schematic?.invalid ?? false,
        platform: spec.platformMetadata?.platform ?? "",
        ...(spec.securityState === undefined ? {} : { securityState: spec.securityState }),
      },
    },
  };
}
