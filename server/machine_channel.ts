// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Starts the tunnel with what listens and calls inside it.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import type { PortRange } from "../base/port_range.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { SERVER_ADDRESS } from "../link/addresses.ts";
import { eventSinkService } from "../link/events.ts";
import { serveKernelLog } from "../link/kmsg.ts";
import { type MachineStore, noMachineStore, openMachineStore } from "../link/machine_store.ts";
import { noTunnel } from "../link/no_tunnel.ts";
import { TRUSTD_PORT } from "../link/trustd.ts";
import { type PacketTunnel, startTunnel, type Tunnel } from "../link/tunnel.ts";
import { createRpcServer } from "../rpc/server.ts";
import { createTalosApi, type TalosApi } from "../talos/api.ts";
import { createTalosSessions } from "../talos/session.ts";
import { readStateKeys } from "./config/state_key.ts";
import { closeRpc, type Context, inBackground } from "./context.ts";
import { createLinkMonitor, type LinkMonitor } from "./link_monitor.ts";
import { createMachineReports } from "./machine_reports.ts";
import { machineStoreMetrics } from "./metrics.ts";
import { MIRRORED_KINDS } from "./mirrored_kinds.ts";
import type { ServerMaterial } from "./seed.ts";
import { createTalosMirror, type TalosMirror } from "./talos_mirror.ts";
import { serveTrustd } from "./trustd.ts";
import { EVENTS_PORT, LOGS_PORT } from "./tunnel_ports.ts";

/** How the server reaches machines. */
export interface MachineChannel {
  readonly tunnel: PacketTunnel;
  readonly monitor: LinkMonitor;
  readonly talos: TalosApi;
  readonly mirror: TalosMirror;
  readonly logs: Pick<MachineStore, "readLog">;
}

/** The tunnel with what listens and calls inside it. */
export async function startMachineChannel(
  context: Context,
  state: StateCore,
  material: ServerMaterial,
): Promise<MachineChannel> {
  const { config, log, observer, telemetry, cleanup, signal, fail } = context;
  const clock = systemClock;
  const tunnel = config.wireguard.enabled
    ? await startTunnel({
      privateKey: material.privateKey.reveal(),
      port: config.wireguard.port,
      address: SERVER_ADDRESS,
      openPorts: openPorts(config),
      mode: config.wireguard.mode,
      log,
    })
    : noTunnel();
  cleanup.defer(() => tunnel.close());
  tunnel.failed.catch(fail);
  const monitor = createLinkMonitor({ state, peers: tunnel.peers, clock });
  inBackground(context, monitor.run(signal));
  const sessions = createTalosSessions({ net: tunnel.net, log, telemetry });
  cleanup.defer(() => sessions.closeAll());
  const talos = createTalosApi(sessions);
  const kinds = MIRRORED_KINDS;
  const mirror = createTalosMirror({ state, sessions, talos, kinds, clock, log });
  cleanup.defer(() => mirror.close());
  let logs: Pick<MachineStore, "readLog"> = noMachineStore();
  if (config.wireguard.enabled) {
    logs = await openSinks(context, state, tunnel);
    const listener = await tunnel.net.listen(TRUSTD_PORT);
    inBackground(context, serveTrustd(listener, { state, clock, log, observer }));
    cleanup.defer(() => listener.close());
  }
  return { tunnel, monitor, talos, mirror, logs };
}

/** Where machines have business: the ports of the server, and those of the clusters' balancers. */
function openPorts({ loadBalancer }: Context["config"]): PortRange[] {
  const own = [EVENTS_PORT, LOGS_PORT, TRUSTD_PORT].map((port) => ({ first: port, last: port }));
  return [...own, loadBalancer.portRange];
}

/** The ports inside the tunnel to which machines report, and the store behind them. */
async function openSinks(
  context: Context,
  state: StateCore,
  { net }: Tunnel,
): Promise<MachineStore> {
  const { config, log, observer, cleanup } = context;
  const store = openStore(context);
  cleanup.defer(() => store.close());
  inBackground(context, expireForEver(store, config.machineStore.retention, context.signal));
  const reports = createMachineReports(state, store);
  const events = createRpcServer({
    services: [eventSinkService(reports)],
    log,
    observer,
  });
  const eventListener = await net.listen(EVENTS_PORT);
  inBackground(context, events.serve(eventListener));
  cleanup.defer(() => closeRpc(events, eventListener));
  const logListener = await net.listen(LOGS_PORT);
  const receiving = serveKernelLog(logListener, { port: reports, clock: systemClock, log });
  inBackground(context, receiving);
  cleanup.defer(async () => {
    logListener.close();
    await receiving;
  });
  return store;
}

function openStore({ config, registry }: Context): MachineStore {
  const { path, retention, maximumSizePerMachine, maximumSize, encrypt } = config.machineStore;
  const keys = encrypt ? readStateKeys(config.state.key) : undefined;
  return openMachineStore({
    path,
    retentionMs: retention,
    bytesPerMachine: maximumSizePerMachine,
    bytesInTotal: maximumSize,
    key: keys?.current,
    previous: keys?.previous,
    clock: systemClock,
    onRemoved: machineStoreMetrics(registry),
  });
}

/** Removes old records ten times in their lifetime, but at least once an hour. */
async function expireForEver(
  store: MachineStore,
  retentionMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await store.expire();
    await systemClock.sleep(Math.min(retentionMs / 10, 3_600_000), signal);
  }
}
