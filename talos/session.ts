// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One gRPC session to each machine, through the tunnel, shared by all who call it.
 *
 * @module
 */

import type { Logger } from "../base/log.ts";
import type { Telemetry } from "../base/telemetry.ts";
import { State } from "../proto/gen/cosi/resource_pb.ts";
import { MachineService } from "../proto/gen/talos/machine_pb.ts";
import { clientSpans } from "../rpc/call_tracing.ts";
import { type Channel, type Client, createChannel, createClient } from "../rpc/client.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { wrapTlsClient } from "../rpc/tls.ts";
import { isSameTarget, TALOS_API_PORT, type TalosTarget } from "./target.ts";

/** Opens streams to addresses inside the tunnel. */
export interface TunnelDialer {
  dial(address: string, port: number, options: { signal?: AbortSignal }): Promise<ByteStream>;
}

/** The clients of one machine's services; all share one connection. */
export interface TalosSession {
  readonly machine: Client<typeof MachineService>;
  readonly state: Client<typeof State>;
}

/** The sessions of all machines. */
export interface TalosSessions {
  /** The session of a machine; another address or other credentials replace the one before. */
  open(target: TalosTarget): TalosSession;
  /** Ends the session of a machine, if there is one. */
  close(machineId: string): void;
  closeAll(): void;
}

/** Options of {@linkcode createTalosSessions}. */
export interface TalosSessionsOptions {
  readonly net: TunnelDialer;
  readonly log: Logger;
  /** How often an idle session is probed, in ms; a dead machine is noticed after twice that. */
  readonly keepaliveMs?: number;
  /** Where the spans of calls go; without it there are none. */
  readonly telemetry?: Telemetry | undefined;
}

interface Entry {
  readonly target: TalosTarget;
  readonly channel: Channel;
  readonly session: TalosSession;
}

/** Creates the table of sessions; nothing is dialled before the first call. */
export function createTalosSessions(options: TalosSessionsOptions): TalosSessions {
  const entries = new Map<string, Entry>();
  const close = (machineId: string): void => {
    entries.get(machineId)?.channel.close();
    entries.delete(machineId);
  };
  return {
    open: (target) => {
      const present = entries.get(target.machineId);
      if (present !== undefined && isSameTarget(present.target, target)) return present.session;
      close(target.machineId);
      const entry = openEntry(target, options);
      entries.set(target.machineId, entry);
      return entry.session;
    },
    close,
    closeAll: () => [...entries.keys()].forEach(close),
  };
}

function openEntry(target: TalosTarget, options: TalosSessionsOptions): Entry {
  const channel = createChannel({
    dial: (signal) => dialMachine(target, options.net, signal),
    authority: `[${target.address}]:${TALOS_API_PORT}`,
    keepaliveMs: options.keepaliveMs ?? 20_000,
    log: options.log,
    beginSpan: clientSpans(options.telemetry, { address: target.address, port: TALOS_API_PORT }),
  });
  const session = {
    machine: createClient(MachineService, channel),
    state: createClient(State, channel),
  };
  return { target, channel, session };
}

/** Connects to a machine's API: with mutual TLS, or unverified to a machine in maintenance. */
async function dialMachine(
  { address, credentials }: TalosTarget,
  net: TunnelDialer,
  signal: AbortSignal,
): Promise<ByteStream> {
  const stream = await net.dial(address, TALOS_API_PORT, { signal });
  try {
    // A machine in maintenance signs for itself; the tunnel's own key says which machine it is.
    return await wrapTlsClient(
      stream,
      credentials === undefined ? { insecure: true, alpn: ["h2"] } : {
        ca: credentials.ca,
        cert: credentials.crt,
        key: credentials.key.reveal(),
        verifyAddress: address,
        alpn: ["h2"],
      },
    );
  } catch (error) {
    stream.close();
    throw error;
  }
}
