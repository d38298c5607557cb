// SPDX-License-Identifier: AGPL-3.0-or-later

/** The worked example of a controller, on the real engine. @module */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import {
  LinkStatusSpecSchema,
  MachineSpecSchema,
  SiderolinkSpecSchema,
} from "../../proto/gen/omni/specs_pb.ts";
import { defineController, type Plan, type Reader, sameId, wait } from "../controller.ts";
import { defineResource, type Resource } from "../resource.ts";
import { fakeResource, startHarness } from "../testing.ts";

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

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const LINK = { nodePublicKey: "key-a", nodeSubnet: "fd00::2/128" };
const MACHINE = { managementAddress: "fd00::2" };

interface PeerConfig {
  readonly publicKey: string;
}

interface LinkPeerFacts {
  readonly machine: Resource<typeof Machine> | undefined;
}

async function gatherLinkPeerFacts(
  link: Resource<typeof Link>,
  reader: Reader<typeof Machine>,
): Promise<LinkPeerFacts> {
  return { machine: await reader.find(Machine, link.metadata.id) };
}

function planLinkPeer(
  link: Resource<typeof Link>,
  { machine }: LinkPeerFacts,
): Plan<typeof LinkStatus, PeerConfig> {
  const { nodePublicKey } = link.spec;
  if (machine === undefined) return wait("machine is not registered");
  if (nodePublicKey === "") return { kind: "destroy", reason: "link has no public key" };
  return {
    kind: "write",
    action: { publicKey: nodePublicKey },
    spec: { nodePublicKey, nodeSubnet: machine.spec.managementAddress },
  };
}

function linkPeerController(peers: Map<string, PeerConfig>) {
  return defineController({
    name: "link.PeerController",
    primary: Link,
    mapped: [sameId(Machine)],
    output: LinkStatus,
    gather: gatherLinkPeerFacts,
    plan: planLinkPeer,
    act: (link, peer) => Promise.resolve(void peers.set(link.metadata.id, peer)),
    finalize: (link) => Promise.resolve(void peers.delete(link.metadata.id)),
  });
}

Deno.test("planLinkPeer() waits until the machine is registered", () => {
  const plan = planLinkPeer(fakeResource(Link, ID, LINK), { machine: undefined });
  deepStrictEqual(plan, { kind: "wait", reason: "machine is not registered" });
});

Deno.test("link.PeerController removes the peer before the link is destroyable", async () => {
  const peers = new Map<string, PeerConfig>();
  await using harness = startHarness(linkPeerController(peers));

  await harness.create(Machine, ID, MACHINE);
  await harness.create(Link, ID, LINK);
  await harness.eventually(LinkStatus, ID, ({ spec }) => strictEqual(spec.nodeSubnet, "fd00::2"));
  strictEqual(peers.get(ID)?.publicKey, "key-a");

  await harness.teardown(Link, ID);
  await harness.eventually(Link, ID, ({ metadata }) => deepStrictEqual(metadata.finalizers, []));
  await harness.eventuallyGone(LinkStatus, ID);
  strictEqual(peers.size, 0);
});

Deno.test("link.PeerController shows what it waits for and goes on when it comes", async () => {
  const peers = new Map<string, PeerConfig>();
  await using harness = startHarness(linkPeerController(peers));
  await harness.create(Link, ID, LINK);
  await harness.eventuallyWaits(
    "link.PeerController",
    ID,
    ({ reason }) => strictEqual(reason, "machine is not registered"),
  );
  await harness.create(Machine, ID, MACHINE);
  await harness.eventually(LinkStatus, ID);
  await harness.restart();
  await harness.update(Machine, ID, { managementAddress: "fd00::3" });
  await harness.eventually(LinkStatus, ID, ({ spec }) => strictEqual(spec.nodeSubnet, "fd00::3"));
});
