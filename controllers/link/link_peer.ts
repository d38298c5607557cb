// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps one WireGuard peer on the tunnel device for every Link.
 *
 * The device starts empty, so every start of the server puts all peers again.
 *
 * @module
 */

import { type Controller, defineController, type Plan } from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import type { PeerConfig, PeerTable } from "../../link/peers.ts";
import { Link } from "../../resources/link/link.ts";
import { LinkStatus } from "../../resources/link/link_status.ts";

/** Creates the controller; the peer is removed before its Link may be destroyed. */
export function linkPeerController({ peers }: { readonly peers: PeerTable }): Controller {
  return defineController({
    name: "link.PeerController",
    primary: Link,
    output: LinkStatus,
    plan: planLinkPeer,
    act: (link, peer, { signal }) => peers.put(link.metadata.id, peer, { signal }),
    finalize: (link, { signal }) => peers.remove(link.metadata.id, { signal }),
  });
}

/** Decides what the device and LinkStatus must hold. */
export function planLinkPeer(
  { metadata, spec }: Resource<typeof Link>,
): Plan<typeof LinkStatus, PeerConfig> {
  const { nodePublicKey, nodeSubnet, virtualAddrport, lastEndpoint } = spec;
  if (nodePublicKey === "") return { kind: "destroy", reason: "the machine has no public key yet" };
  return {
    kind: "write",
    action: {
      publicKey: nodePublicKey,
      allowedIp: nodeSubnet.replace(/\/.*$/, ""),
      ...endpointOf(virtualAddrport, lastEndpoint),
    },
    spec: { nodeSubnet, nodePublicKey, virtualAddrport, linkId: metadata.id },
  };
}

function endpointOf(
  virtualAddrport: string,
  lastEndpoint: string,
): Pick<PeerConfig, "endpoint" | "lastEndpoint"> {
  // What comes over gRPC has no other address than its name.
  if (virtualAddrport !== "") return { endpoint: virtualAddrport };
  return lastEndpoint === "" ? {} : { lastEndpoint };
}
