// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The provision service: how a machine asks to join and what it is told.
 *
 * It checks the form of a request and knows the wire; who may join is decided behind the port that
 * it is given.
 *
 * @module
 */

import { create } from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";
import { type MachineId, parseMachineId } from "../base/ids.ts";
import { Secret } from "../base/redact.ts";
import {
  type ProvisionRequest,
  type ProvisionResponse,
  ProvisionResponseSchema,
  ProvisionService,
} from "../proto/gen/siderolink/link_pb.ts";
import { implementService, type Service } from "../rpc/service.ts";
import { isPublicKey } from "./keys.ts";

/** A well-formed request to join. */
export interface JoinRequest {
  readonly machineId: MachineId;
  /** The machine's WireGuard key of this boot, base64. */
  readonly publicKey: string;
  readonly joinToken: Secret;
  /** What the machine holds as its unique token; empty when it has none. */
  readonly nodeToken: Secret;
  /** The tag that the machine reports, for example `v1.12.10`; empty for old machines. */
  readonly talosVersion: string;
  /** The machine asks to carry WireGuard over gRPC. */
  readonly overGrpc: boolean;
  readonly remoteAddress: string;
}

/** What an admitted machine is told. */
export interface JoinReply {
  /** `host:port` of the server's WireGuard, all of equal standing, in the order of preference. */
  readonly serverEndpoints: readonly string[];
  readonly serverPublicKey: string;
  readonly serverAddress: string;
  /** The machine's address in the tunnel with its prefix length. */
  readonly nodeAddressPrefix: string;
  /** The virtual endpoint of a machine whose packets come over gRPC; empty for all others. */
  readonly virtualEndpoint: string;
}

/** Decides on requests to join; throws `permissionDenied` for a machine that may not. */
export interface JoinPort {
  join(request: JoinRequest, options: { readonly signal: AbortSignal }): Promise<JoinReply>;
}

/** The provision service over a port that decides. */
export function provisionService(port: JoinPort): Service {
  return implementService(ProvisionService, {
    provision: async (request, { remoteAddress, signal }) => {
      const reply = await port.join(readJoinRequest(request, remoteAddress), { signal });
      return provisionResponse(reply);
    },
  });
}

/** Checks the form of a request; throws `invalidArgument` naming every malformed field. */
export function readJoinRequest(request: ProvisionRequest, remoteAddress: string): JoinRequest {
  const machineId = parseMachineId(request.nodeUuid);
  const problems: string[] = [];
  if (machineId === undefined) {
    problems.push(`node_uuid must be a UUID: current value is ${JSON.stringify(request.nodeUuid)}`);
  }
  if (!isPublicKey(request.nodePublicKey)) {
    problems.push("node_public_key must be a WireGuard public key: 32 bytes in standard base64");
  }
  if (machineId === undefined || problems.length > 0) {
    throw new CodedError("invalidArgument", `Cannot provision: ${problems.join("; ")}`);
  }
  return {
    machineId,
    publicKey: request.nodePublicKey,
    joinToken: new Secret(request.joinToken ?? ""),
    nodeToken: new Secret(request.nodeUniqueToken ?? ""),
    talosVersion: request.talosVersion ?? "",
    overGrpc: request.wireguardOverGrpc ?? false,
    remoteAddress,
  };
}

function provisionResponse(reply: JoinReply): ProvisionResponse {
  return create(ProvisionResponseSchema, {
    serverEndpoint: endpointsForTheWire(
      reply.virtualEndpoint === "" ? reply.serverEndpoints : [reply.virtualEndpoint],
    ),
    serverPublicKey: reply.serverPublicKey,
    nodeAddressPrefix: reply.nodeAddressPrefix,
    serverAddress: reply.serverAddress,
    grpcPeerAddrPort: reply.virtualEndpoint,
  });
}

/**
 * Swaps the first and the last endpoint: old machines read the repeated field as a single one and
 * see its last element; newer ones swap back.
 */
export function endpointsForTheWire(endpoints: readonly string[]): string[] {
  const [first, last] = [endpoints[0], endpoints.at(-1)];
  if (first === undefined || last === undefined || endpoints.length === 1) return [...endpoints];
  return [last, ...endpoints.slice(1, -1), first];
}
