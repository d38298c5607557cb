// SPDX-License-Identifier: AGPL-3.0-or-later

/** The compiler's part of the contract: what must compile, and what must not. @module */

import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  LinkStatusSpecSchema,
  MachineSpecSchema,
  MachineStatusLinkSpecSchema,
  SiderolinkSpecSchema,
} from "../proto/gen/omni/specs_pb.ts";
import { defineCollector, type Observation } from "./collector.ts";
import {
  byLabel,
  defineController,
  mapped,
  type Plan,
  type PlanMany,
  PRIMARY_LABEL,
  type Reader,
  sameId,
  wait,
} from "./controller.ts";
import { defineResource, type Resource } from "./resource.ts";

const Link = defineResource({
  type: "Links.test",
  namespace: "default",
  schema: SiderolinkSpecSchema,
  access: "readOnly",
});
const Machine = defineResource({
  type: "Machines.test",
  namespace: "default",
  schema: MachineSpecSchema,
  access: "readOnly",
});
const LinkStatus = defineResource({
  type: "LinkStatuses.test",
  namespace: "ephemeral",
  schema: LinkStatusSpecSchema,
  access: "readOnly",
});
const Counter = defineResource({
  type: "MachineStatusLinks.test",
  namespace: "default",
  schema: MachineStatusLinkSpecSchema,
  access: "readOnly",
});

interface Peer {
  readonly key: string;
}

async function gatherMachine(link: Resource<typeof Link>, reader: Reader<typeof Machine>) {
  return { machine: await reader.find(Machine, link.metadata.id) };
}

function planPeer(
  link: Resource<typeof Link>,
  { machine }: { readonly machine: Resource<typeof Machine> | undefined },
): Plan<typeof LinkStatus, Peer> {
  if (machine === undefined) return wait("machine is not registered");
  return {
    kind: "write",
    action: { key: link.spec.nodePublicKey },
    spec: { nodeSubnet: machine.spec.managementAddress },
  };
}

Deno.test("defineController() infers primary, inputs, output and action", () => {
  const keys: string[] = [];
  const controller = defineController({
    name: "test.PeerController",
    primary: Link,
    mapped: [sameId(Machine), byLabel(Counter, "machine")],
    output: LinkStatus,
    gather: gatherMachine, // A reader of fewer types than are declared.
    plan: planPeer,
    act: (link, peer, { facts }) => {
      keys.push(link.spec.nodePublicKey, peer.key, facts.machine?.spec.managementAddress ?? "");
      return Promise.resolve();
    },
    finalize: (link) => Promise.resolve(void keys.push(link.metadata.id)),
  });
  strictEqual(controller.shape, "effect");
  strictEqual(controller.output.primaryLabel, undefined);
  deepStrictEqual(keys, []);
});

Deno.test("defineController() refuses at compile time what is not declared", () => {
  defineController({
    name: "test.Undeclared",
    primary: Link,
    mapped: [sameId(Counter)],
    output: LinkStatus,
    // @ts-expect-error: Machine is read but not among the inputs.
    gather: gatherMachine,
    plan: () => wait("never"),
  });
  const Twin = defineResource({
    type: "Twins.test",
    namespace: "default",
    schema: Counter.schema,
    access: "readOnly",
  });
  defineController({
    name: "test.UndeclaredTwin",
    primary: Link,
    mapped: [sameId(Counter)],
    output: LinkStatus,
    gather: async (link, reader) => ({
      // @ts-expect-error: Twin only shares the schema of an input.
      twin: await reader.find(Twin, link.metadata.id),
    }),
    plan: () => wait("never"),
  });
  defineController({
    name: "test.UndeclaredInline",
    primary: Link,
    mapped: [sameId(Counter)],
    output: LinkStatus,
    gather: async (link, reader) => ({
      counter: await reader.find(Counter, link.metadata.id),
      sibling: await reader.find(Link, "another"),
      // @ts-expect-error: Machine is read but not among the inputs.
      machine: await reader.find(Machine, link.metadata.id),
    }),
    plan: () => wait("never"),
  });
  defineController({
    name: "test.WrongOutput",
    primary: Link,
    mapped: [sameId(Machine)],
    output: Counter,
    gather: gatherMachine,
    // @ts-expect-error: The plan writes LinkStatus, the declaration says Counter.
    plan: planPeer,
  });
  defineController({
    name: "test.WrongAction",
    primary: Link,
    mapped: [sameId(Machine)],
    output: LinkStatus,
    gather: gatherMachine,
    // @ts-expect-error: The plan's action is a Peer, not a number.
    plan: planPeer,
    act: (_link, _action: number) => Promise.resolve(),
  });
  defineController({
    name: "test.WrongPrimary",
    // @ts-expect-error: The plan decides about a Link, the primary is a Machine.
    primary: Machine,
    mapped: [],
    output: LinkStatus,
    plan: (_link: Resource<typeof Link>) => wait("never"),
  });
  defineController({
    name: "test.WrongField",
    primary: Machine,
    output: LinkStatus,
    // @ts-expect-error: LinkStatus has no such field.
    plan: () => ({ kind: "write", spec: { noSuchField: 1 } }),
  });
  throws(
    () =>
      defineController({
        name: "test.Careless",
        primary: Link,
        output: LinkStatus,
        keepsPrimary: false,
        plan: () => wait("never"),
        act: () => Promise.resolve(),
      }),
    /must keep its primary/,
  );
});

Deno.test("defineController() stamps the primary on outputs whose ID differs", () => {
  const many = defineController({
    name: "test.Many",
    primary: Machine,
    mapped: [mapped(Link, (link) => [link.spec.nodeSubnet])],
    outputs: LinkStatus,
    plan: (machine): PlanMany<typeof LinkStatus> => ({
      kind: "write",
      outputs: new Map([["a", { spec: { nodeSubnet: machine.spec.managementAddress } }]]),
    }),
  });
  strictEqual(many.output.primaryLabel, PRIMARY_LABEL);
  const renamed = defineController({
    name: "test.Renamed",
    primary: Machine,
    output: LinkStatus,
    outputId: (machine) => `of-${machine.metadata.id}`,
    plan: (machine) => ({ kind: "write", spec: { nodeSubnet: machine.spec.managementAddress } }),
  });
  strictEqual(renamed.output.primaryLabel, PRIMARY_LABEL);
});

Deno.test("defineCollector() infers the observed value", () => {
  const collector = defineCollector({
    name: "test.Collector",
    output: LinkStatus,
    mapped: [sameId(Link)],
    observe: async function* (): AsyncGenerator<Observation<{ readonly address: string }>> {
      yield { kind: "complete" };
    },
    gather: async (id, reader) => ({ link: await reader.find(Link, id) }),
    plan: ({ value }, { link }) =>
      link === undefined
        ? { kind: "destroy", reason: "link is gone" }
        : { kind: "write", spec: { nodeSubnet: value.address } },
  });
  strictEqual(collector.shape, "collector");
  defineCollector({
    name: "test.CollectorUndeclared",
    output: LinkStatus,
    observe: async function* (): AsyncGenerator<Observation<number>> {
      yield { kind: "complete" };
    },
    // @ts-expect-error: Link is read but not among the inputs.
    gather: async (id, reader) => ({ link: await reader.find(Link, id) }),
    plan: () => wait("never"),
  });
});
