// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The machine API on port 50000 of the tunnel address, with the TLS and the rights of each mode.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { ipv6Bytes, isTunnelAddress } from "../link/addresses.ts";
import { createRpcServer, type RpcServer } from "../rpc/server.ts";
import type { IncomingStream } from "../rpc/stream.ts";
import { type TlsStream, wrapTlsServer } from "../rpc/tls.ts";
import type { CertificateAndKey } from "../talos/config/pki.ts";
import { guardService, isMaintenanceMethod, mayCall, rolesOfCertificate } from "./access.ts";
import type { ApidMode, Boot } from "./boot.ts";
import { isIssuedBy } from "../rpc/client_certificate.ts";
import { imageService, lifecycleService } from "./lifecycle_service.ts";
import { countCall } from "./machine_core.ts";
import { machineService, storageService } from "./machine_service.ts";
import { stateService } from "./state_service.ts";
import { hasFullMaintenanceApi } from "./versions.ts";

const APID_PORT = 50000;

/** Serves the machine API, in whatever mode the machine is, until the power goes. */
export async function serveApid(boot: Boot): Promise<void> {
  const { core, signal } = boot;
  while (!signal.aborted) {
    await core.changed.until(() => boot.apid !== undefined && boot.tunnel !== undefined, signal);
    const { apid, tunnel } = boot;
    if (apid === undefined || tunnel === undefined) continue;
    const fallback = apid.kind === "mtls"
      ? apid.certificate
      : await core.world.maintenanceCertificate();
    const listener = await tunnel.net.listen(APID_PORT);
    const servers = new RoleServers(boot, apid);
    const open = new Set<IncomingStream>();
    const accepting = (async () => {
      for await (const incoming of listener) {
        open.add(incoming);
        // A renewed certificate serves new connections; those that are open stay.
        const mode = boot.apid ?? apid;
        const certificate = mode.kind === "mtls" ? mode.certificate : fallback;
        void serveClient(mode, certificate, incoming, servers).finally(() => open.delete(incoming));
      }
    })();
    try {
      await core.changed.until(
        () => boot.apid?.kind !== apid.kind || boot.tunnel !== tunnel,
        signal,
      );
    } finally {
      listener.close();
      // A change of mode is a restart of the service: calls in flight may still be answered.
      await servers.drain(signal.aborted ? 0 : DRAIN_MS);
      for (const { stream } of open) stream.close();
      await accepting;
    }
  }
}

/** Time for calls in flight when the service restarts. */
const DRAIN_MS = 100;

async function serveClient(
  apid: ApidMode,
  certificate: CertificateAndKey,
  incoming: IncomingStream,
  servers: RoleServers,
): Promise<void> {
  let secure: TlsStream | undefined;
  try {
    secure = await wrapTlsServer(incoming.stream, {
      cert: certificate.crt,
      key: certificate.key,
      ...(apid.kind === "mtls" ? { ca: apid.authorities, requestClientCert: "require" } : {}),
    });
    const roles = rolesOf(apid, secure, incoming.remoteAddress, servers.nowMs());
    await servers.of(roles).handle({ ...incoming, stream: secure });
  } catch (error) {
    servers.log.debug("client of an emulated machine refused", {
      address: incoming.remoteAddress,
      error,
    });
    // A client that fails the handshake, or shows a certificate for other uses, learns it from TLS.
  } finally {
    secure?.close();
    incoming.stream.close();
  }
}

function rolesOf(
  apid: ApidMode,
  { peerCertificate }: TlsStream,
  address: string,
  nowMs: number,
): Set<string> {
  if (apid.kind === "maintenance") {
    // Whoever comes through the tunnel is an administrator.
    return new Set([isTunnelAddress(ipv6Bytes(address)) ? "os:admin" : "os:reader"]);
  }
  // The TLS layer below asks for a certificate but does not look who signed it.
  if (peerCertificate === undefined || !isIssuedBy(peerCertificate, apid.authorities, nowMs)) {
    throw new CodedError("unauthenticated", "a client certificate of the cluster is required");
  }
  return rolesOfCertificate(peerCertificate.toString());
}

/** One server for each set of roles, so that every handler knows its caller's rights. */
class RoleServers {
  readonly #servers = new Map<string, RpcServer>();
  readonly #boot: Boot;
  readonly #apid: ApidMode;

  constructor(boot: Boot, apid: ApidMode) {
    this.#boot = boot;
    this.#apid = apid;
  }

  /** The time of the machine. */
  nowMs(): number {
    return this.#boot.core.clock.nowMs();
  }

  /** Where refusals are told. */
  get log(): Logger {
    return this.#boot.core.log;
  }

  /** The server for clients with these roles. */
  of(roles: ReadonlySet<string>): RpcServer {
    const key = [...roles].sort().join();
    const known = this.#servers.get(key);
    if (known !== undefined) return known;
    const made = createMachineServer(this.#boot, this.#apid, roles);
    this.#servers.set(key, made);
    return made;
  }

  /** Ends all connections after the calls that run. */
  async drain(timeoutMs: number): Promise<void> {
    await Promise.all([...this.#servers.values()].map((server) => server.drain(timeoutMs)));
  }
}

function createMachineServer(
  boot: Boot,
  { kind }: ApidMode,
  roles: ReadonlySet<string>,
): RpcServer {
  const { core } = boot;
  const isSmall = kind === "maintenance" && !hasFullMaintenanceApi(boot.version);
  const services = [stateService(boot), machineService(boot), storageService(boot)];
  if (hasFullMaintenanceApi(boot.version)) {
    services.push(lifecycleService(boot), imageService(boot));
  }
  return createRpcServer({
    log: core.log,
    services: services.map((service) =>
      guardService(service, async ({ service: name, method }) => {
        const isMachine = name === "machine.MachineService";
        countCall(core, isMachine ? method : `${name.split(".").at(-1)}/${method}`);
        if (core.latencyMs > 0) await core.clock.sleep(core.latencyMs, boot.signal);
        if (isSmall && !isMaintenanceMethod(name, method)) {
          throw new CodedError("unimplemented", "API is not implemented in maintenance mode");
        }
        if (!mayCall(roles, name, method)) {
          throw new CodedError("permissionDenied", "not authorized");
        }
      })
    ),
  });
}
