// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The controllers of the simulation: each shape, and the promises about order,
 * finalizers and outputs.
 *
 * @module
 */

import {
  LinkStatusSpecSchema,
  MachineSpecSchema,
  SiderolinkSpecSchema,
  SysVersionSpecSchema,
} from "../../proto/gen/omni/specs_pb.ts";
import { defineCollector } from "../../cosi/collector.ts";
import {
  byLabel,
  type Controller,
  defineController,
  held,
  type Plan,
  type PlanMany,
  readOnly,
  sameId,
  wait,
} from "../../cosi/controller.ts";
import { defineResource } from "../../cosi/resource.ts";
import type { Chance } from "./chance.ts";
import type { Device } from "./device.ts";

const namespace = "default";
const access = "readOnly";

/** What users write; its address is a list of letters, or empty for nothing. */
export const Source = defineResource({
  type: "Sources.sim",
  namespace,
  access,
  schema: MachineSpecSchema,
});
/** What users write beside it, with the same ID. */
export const Extra = defineResource({
  type: "Extras.sim",
  namespace,
  access,
  schema: SiderolinkSpecSchema,
});
/** Groups that sources belong to by their label. */
export const Group = defineResource({
  type: "Groups.sim",
  namespace,
  access,
  schema: MachineSpecSchema,
});
/** What of a source is on the device. */
export const Target = defineResource({
  type: "Targets.sim",
  namespace,
  access,
  schema: LinkStatusSpecSchema,
});
/** One for each letter of a source that has an extra. */
export const Part = defineResource({
  type: "Parts.sim",
  namespace,
  access,
  schema: LinkStatusSpecSchema,
});
/** Made of a target. */
export const Derived = defineResource({
  type: "Deriveds.sim",
  namespace,
  access,
  schema: SysVersionSpecSchema,
});
/** A number for each source that it keeps. */
export const Port = defineResource({
  type: "Ports.sim",
  namespace,
  access,
  schema: LinkStatusSpecSchema,
});
/** A status of an extra that is not worth holding it for. */
export const Cheap = defineResource({
  type: "Cheaps.sim",
  namespace,
  access,
  schema: SysVersionSpecSchema,
});
/** How many sources a group has. */
export const GroupStatus = defineResource({
  type: "GroupStatuses.sim",
  namespace,
  access,
  schema: SysVersionSpecSchema,
});
/** What the device says that it holds. */
export const Seen = defineResource({
  type: "Seens.sim",
  namespace,
  access,
  schema: SysVersionSpecSchema,
});

/** What users write. */
export const USER_TYPES = [Source, Extra, Group] as const;
/** What controllers write. */
export const OUTPUT_TYPES = [Target, Part, Derived, Port, Cheap, GroupStatus, Seen] as const;

/** Names the group of a source. */
export const GROUP = "sim/group";
/** Names the source of a part. */
const SOURCE = "sim/source";

/** Names of the controllers, which are their finalizers. */
export const NAMES = {
  device: "sim.DeviceController",
  part: "sim.PartController",
  chain: "sim.ChainController",
  port: "sim.PortController",
  cheap: "sim.CheapController",
  group: "sim.GroupController",
  seen: "sim.SeenCollector",
} as const;

/** The letters of an address. */
export function lettersOf(address: string): string[] {
  return [...new Set(address)].sort();
}

/** Declares all controllers. */
export function simulatedControllers(
  device: Device,
  chance: Chance,
  faultRate: () => number,
): Controller[] {
  return [
    deviceController(device),
    partController(),
    chainController(chance, faultRate),
    portController(),
    cheapController(),
    groupController(),
    seenCollector(device),
  ];
}

function deviceController(device: Device): Controller {
  return defineController({
    name: NAMES.device,
    primary: Source,
    output: Target,
    gather: ({ metadata }) => Promise.resolve({ present: device.values.get(metadata.id) }),
    plan: ({ spec }, { present }): Plan<typeof Target, string> => {
      const address = spec.managementAddress;
      if (address === "") return { kind: "destroy", reason: "there is no address" };
      const write = { kind: "write", spec: { linkId: address } } as const;
      return present === address ? write : { ...write, action: address };
    },
    act: ({ metadata }, address, options) => device.put(metadata.id, address, options),
    finalize: ({ metadata }, options) => device.remove(metadata.id, options),
  });
}

function partController(): Controller {
  return defineController({
    name: NAMES.part,
    primary: Source,
    mapped: [held(Extra)],
    outputs: Part,
    primaryLabel: SOURCE,
    gather: async ({ metadata }, reader) => ({ extra: await reader.find(Extra, metadata.id) }),
    plan: ({ metadata, spec }, { extra }): PlanMany<typeof Part> => {
      if (extra === undefined) return { kind: "destroy", reason: "there is no extra" };
      return {
        kind: "write",
        outputs: new Map(
          lettersOf(spec.managementAddress).map((letter) => [
            `${metadata.id}-${letter}`,
            { spec: { linkId: `${letter}${extra.spec.lastEndpoint}` } },
          ]),
        ),
      };
    },
  });
}

function chainController(chance: Chance, faultRate: () => number): Controller {
  return defineController({
    name: NAMES.chain,
    primary: Target,
    output: Derived,
    plan: ({ spec }): Plan<typeof Derived> => ({
      kind: "write",
      spec: { backendVersion: spec.linkId },
    }),
    finalize: () => {
      if (chance.happens(faultRate())) return Promise.reject(new Error("chain broke"));
      return Promise.resolve(
        chance.happens(faultRate()) ? wait("not yet", { retryAfterMs: 50 }) : undefined,
      );
    },
  });
}

function portController(): Controller {
  return defineController({
    name: NAMES.port,
    primary: Source,
    mapped: [readOnly(Port)],
    output: Port,
    concurrency: 1,
    gather: async ({ metadata }, reader) => ({
      own: await reader.find(Port, metadata.id),
      all: await reader.list(Port),
    }),
    plan: ({ metadata }, { own, all }): Plan<typeof Port> => {
      if (own !== undefined) return { kind: "write", spec: own.spec };
      const taken = new Set(all.map(({ spec }) => spec.linkId));
      let port = 1;
      while (taken.has(`${port}`)) port += 1;
      return { kind: "write", spec: { linkId: `${port}`, nodeSubnet: metadata.id } };
    },
  });
}

function cheapController(): Controller {
  return defineController({
    name: NAMES.cheap,
    primary: Extra,
    mapped: [sameId(Source)],
    output: Cheap,
    keepsPrimary: false,
    gather: async ({ metadata }, reader) => ({ source: await reader.find(Source, metadata.id) }),
    plan: ({ spec }, { source }): Plan<typeof Cheap> => ({
      kind: "write",
      spec: { backendVersion: `${source?.spec.managementAddress} ${spec.lastEndpoint}` },
    }),
  });
}

function groupController(): Controller {
  return defineController({
    name: NAMES.group,
    primary: Group,
    mapped: [byLabel(Source, GROUP)],
    output: GroupStatus,
    plansTeardown: true,
    gather: async ({ metadata }, reader) => ({
      sources: await reader.list(Source, { labels: { [GROUP]: metadata.id } }),
    }),
    plan: ({ metadata }, { sources }): Plan<typeof GroupStatus> => {
      const backendVersion = `${metadata.phase} ${sources.length}`;
      if (metadata.phase === "running") return { kind: "write", spec: { backendVersion } };
      if (sources.length === 0) return { kind: "destroy", reason: "the group is empty" };
      return { kind: "write", spec: { backendVersion }, waiting: "sources are left" };
    },
  });
}

function seenCollector(device: Device): Controller {
  return defineCollector({
    name: NAMES.seen,
    output: Seen,
    mapped: [sameId(Source)],
    observe: (options) => device.observe(options),
    plan: ({ value }): Plan<typeof Seen> => ({ kind: "write", spec: { backendVersion: value } }),
  });
}
