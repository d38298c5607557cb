// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Answers workers in the name of the cluster that they belong to, known by their tunnel address.
 *
 * Workers look for this at the host of their cluster's endpoint, which is this server's own address
 * in the tunnel: without an answer they never open their API.
 *
 * @module
 */

import { createHash, timingSafeEqual } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { SERVER_ADDRESS } from "../link/addresses.ts";
import { trustdService, type TrustPort } from "../link/trustd.ts";
import { ClusterMachine } from "../resources/cluster/cluster_machine.ts";
import { ClusterSecret } from "../resources/cluster/cluster_secret.ts";
import { LABEL_CLUSTER, LABEL_MACHINE_ADDRESS } from "../resources/labels.ts";
import { Machine } from "../resources/machine/machine.ts";
import type { CallObserver } from "../rpc/call_observer.ts";
import { createRpcServer, type RpcServer } from "../rpc/server.ts";
import type { IncomingStream, StreamListener } from "../rpc/stream.ts";
import { wrapTlsServer } from "../rpc/tls.ts";
import { type Bundle, bundleFromJson } from "../talos/config/bundle.ts";
import {
  issueMachineServerCertificate,
  MACHINE_SERVER_LIFETIME_MS,
  signMachineServerRequest,
} from "../talos/config/certificates.ts";
import { type CertificateAndKey, parseRequest } from "../talos/config/pki.ts";
import { listResources, peekResource } from "./typed_state.ts";

/** Options of {@linkcode serveTrustd}. */
export interface TrustdOptions {
  readonly state: StateCore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer: CallObserver;
}

/** A certificate of this server in the name of one cluster. */
interface OwnCertificate {
  readonly authority: string;
  readonly pair: CertificateAndKey;
  readonly renewAtMs: number;
}

/** Serves workers until the listener is closed. */
export async function serveTrustd(
  listener: StreamListener,
  options: TrustdOptions,
): Promise<void> {
  const server = createRpcServer({
    services: [trustdService(createTrustPort(options))],
    log: options.log,
    observer: options.observer,
  });
  const certificates = new Map<string, OwnCertificate>();
  for await (const incoming of listener) void accept(incoming, server, certificates, options);
  server.close();
}

async function accept(
  incoming: IncomingStream,
  server: RpcServer,
  certificates: Map<string, OwnCertificate>,
  options: TrustdOptions,
): Promise<void> {
  try {
    const { cluster, bundle } = clusterAt(options.state, incoming.remoteAddress);
    const { crt: cert, key } = await ownCertificate(cluster, bundle, certificates, options);
    const stream = await wrapTlsServer(incoming.stream, { cert, key, alpn: ["h2"] });
    await server.handle({ ...incoming, stream });
  } catch (error) {
    incoming.stream.close();
    options.log.debug("trustd connection refused", { address: incoming.remoteAddress, error });
  }
}

async function ownCertificate(
  cluster: string,
  { certs: { os } }: Bundle,
  certificates: Map<string, OwnCertificate>,
  { state, clock }: TrustdOptions,
): Promise<CertificateAndKey> {
  const nowMs = clock.nowMs();
  const known = certificates.get(cluster);
  if (known?.authority === os.crt && nowMs < known.renewAtMs) return known.pair;
  const pair = await issueMachineServerCertificate(os, { nowMs, ipAddresses: [SERVER_ADDRESS] });
  const renewAtMs = nowMs + MACHINE_SERVER_LIFETIME_MS / 2;
  // Keys of clusters that are gone are not kept beyond the next one that is made.
  for (const [name, { renewAtMs: endMs }] of certificates) {
    const isGone = peekResource(state, ClusterSecret, name) === undefined;
    if (isGone || endMs <= nowMs) certificates.delete(name);
  }
  certificates.set(cluster, { authority: os.crt, pair, renewAtMs });
  return pair;
}

/** Issues certificates from the authorities in the state. */
function createTrustPort({ state, clock }: TrustdOptions): TrustPort {
  return {
    issue: async ({ remoteAddress, token, request }) => {
      const { bundle } = clusterAt(state, remoteAddress);
      if (!isEqual(token.reveal(), bundle.trustdInfo.token)) {
        throw new CodedError("unauthenticated", "Cannot issue certificate: the token is wrong");
      }
      const { os } = bundle.certs;
      const nowMs = clock.nowMs();
      const crt = await signMachineServerRequest(os, await parseRequest(request), { nowMs });
      return { ca: os.crt, crt };
    },
  };
}

function clusterAt(state: StateCore, address: string): { cluster: string; bundle: Bundle } {
  const machine = listResources(state, Machine, { [LABEL_MACHINE_ADDRESS]: address })[0];
  const cluster = machine &&
    peekResource(state, ClusterMachine, machine.metadata.id)?.metadata.labels[LABEL_CLUSTER];
  const secrets = cluster === undefined ? undefined : peekResource(state, ClusterSecret, cluster);
  if (cluster === undefined || secrets === undefined) {
    throw new CodedError("permissionDenied", "Cannot answer: the address is in no cluster");
  }
  return { cluster, bundle: bundleFromJson(new TextDecoder().decode(secrets.spec.data)) };
}

function isEqual(left: string, right: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(left), hash(right));
}
