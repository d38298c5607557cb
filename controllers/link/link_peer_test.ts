// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { fakeResource, startHarness } from "../../cosi/testing.ts";
import type { PeerConfig, PeerTable } from "../../link/peers.ts";
import { Link } from "../../resources/link/link.ts";
import { LinkStatus } from "../../resources/link/link_status.ts";
import { linkPeerController, planLinkPeer } from "./link_peer.ts";

const ID = "1d4f0c6e-0000-4000-8000-000000000001";
const LINK = { nodePublicKey: "key-a", nodeSubnet: "fdae::2/64" };

function fakePeerTable(): PeerTable & { readonly current: Map<string, PeerConfig> } {
  const current = new Map<string, PeerConfig>();
  return {
    current,
    put: (id, peer) => Promise.resolve(void current.set(id, peer)),
    remove: (id) => Promise.resolve(void current.delete(id)),
    stats: () => Promise.resolve(new Map()),
  };
}

Deno.test("planLinkPeer() drops the peer of a link without a key", () => {
  strictEqual(planLinkPeer(fakeResource(Link, ID, { ...LINK, nodePublicKey: "" })).kind, "destroy");
});

Deno.test("planLinkPeer() hands on where the machine was last seen", () => {
  const plan = planLinkPeer(fakeResource(Link, ID, { ...LINK, lastEndpoint: "192.0.2.1:5" }));
  deepStrictEqual(plan.kind === "write" && plan.action, {
    publicKey: "key-a",
    allowedIp: "fdae::2",
    lastEndpoint: "192.0.2.1:5",
  });
});

Deno.test("planLinkPeer() gives the name of a machine that comes over gRPC as its endpoint", () => {
  const plan = planLinkPeer(
    fakeResource(Link, ID, {
      ...LINK,
      virtualAddrport: "[fdae::9]:1",
      lastEndpoint: "192.0.2.1:5",
    }),
  );
  deepStrictEqual(plan.kind === "write" && plan.action, {
    publicKey: "key-a",
    allowedIp: "fdae::2",
    endpoint: "[fdae::9]:1",
  });
});

Deno.test("link.PeerController removes the peer before the link is destroyable", async () => {
  const peers = fakePeerTable();
  await using harness = startHarness(linkPeerController({ peers }));
  await harness.create(Link, ID, LINK);
  await harness.eventually(
    LinkStatus,
    ID,
    ({ spec }) => strictEqual(spec.nodePublicKey, "key-a"),
  );
  strictEqual(peers.current.get(ID)?.publicKey, "key-a");

  await harness.teardown(Link, ID);
  await harness.eventually(
    Link,
    ID,
    ({ metadata }) => deepStrictEqual(metadata.finalizers, []),
  );
  await harness.eventuallyGone(LinkStatus, ID);
  strictEqual(peers.current.size, 0);
});

Deno.test("link.PeerController puts every peer again after a restart", async () => {
  const peers = fakePeerTable();
  await using harness = startHarness(linkPeerController({ peers }));
  await harness.create(Link, ID, LINK);
  await harness.eventually(LinkStatus, ID, () => strictEqual(peers.current.size, 1));
  peers.current.clear();
  await harness.restart();
  await harness.eventually(LinkStatus, ID, () => strictEqual(peers.current.size, 1));
});
