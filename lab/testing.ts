// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server's side of the wire for tests of machines: provision, tunnel, sinks and clients, with
 * nothing behind them.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import {
  randomNodeAddress,
  randomVirtualAddress,
  SERVER_ADDRESS,
  VIRTUAL_PORT,
} from "../link/addresses.ts";
import { wireguardOverGrpcService } from "../link/wireguard_over_grpc.ts";
import { type Device, startDevice } from "../link/device.ts";
import { eventSinkService, type MachineEvent } from "../link/events.ts";
import { generateKey, type KeyPair } from "../link/keys.ts";
import { serveKernelLog } from "../link/kmsg.ts";
import { type JoinReply, type JoinRequest, provisionService } from "../link/provision.ts";
import { createSignal, type Signal } from "./signal.ts";
import { type Channel, createChannel } from "../rpc/client.ts";
import { createRpcServer } from "../rpc/server.ts";
import { listenTcp } from "../rpc/tcp.ts";
import { wrapTlsClient } from "../rpc/tls.ts";
import type { ByteStream } from "../rpc/stream.ts";

/** What a caller shows and expects. */
export interface TestCredentials {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A server that admits every machine with the right token. */
export interface TestServer {
  /** For the machines. */
  readonly kernelArgs: string;
  /** In the order of their arrival. */
  readonly joins: JoinRequest[];
  readonly events: MachineEvent[];
  readonly kernelLines: string[];
  readonly device: Device;
  /** Machines by UUID, with their tunnel address. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Refuses the next event of each ID with an error, so that it is sent again. */
  failEvents: boolean;
  /** Resolves once enough has arrived. */
  until(condition: () => boolean): Promise<void>;
  /** Opens a connection to a machine. */
  dial(address: string, port: number): Promise<ByteStream>;
  /**
   * A connected channel to a machine's API, without credentials as to one in maintenance. It tries
   * for ten seconds: a machine that has just changed its mode may not listen yet.
   */
  connect(address: string, credentials?: TestCredentials): Promise<Channel>;
  /** A channel that is not connected yet; closed with the server. */
  channel(address: string, credentials?: TestCredentials): Channel;
  close(): Promise<void>;
}

/** The join token of {@linkcode startTestServer}. */
export const TEST_TOKEN = "lab-token";

/** Longest time that something may take to arrive. */
const ARRIVAL_MS = 10_000;

const EVENTS_PORT = 8091;
const LOGS_PORT = 8092;

/** Starts the server on loopback. */
export async function startTestServer(): Promise<TestServer> {
  const key = generateKey();
  const device = await startDevice({
    privateKey: key.privateKey,
    port: 0,
    bindAddress: "127.0.0.1",
    address: SERVER_ADDRESS,
    log: silentLogger,
  });
  const arrived = createSignal();
  const joins: JoinRequest[] = [];
  const addresses = new Map<string, string>();
  const provision = startProvision(device, key, { joins, addresses, arrived });
  const sinks = await startSinks(device, addresses, arrived);
  const channels = new Set<Channel>();
  const openChannel = (address: string, credentials?: TestCredentials): Channel => {
    const channel = machineChannel(device, address, credentials);
    channels.add(channel);
    return channel;
  };
  return {
    kernelArgs: `siderolink.api=grpc://127.0.0.1:${provision.port}?jointoken=${TEST_TOKEN} ` +
      `talos.events.sink=[${SERVER_ADDRESS}]:${EVENTS_PORT} ` +
      `talos.logging.kernel=tcp://[${SERVER_ADDRESS}]:${LOGS_PORT}`,
    joins,
    events: sinks.events,
    kernelLines: sinks.kernelLines,
    device,
    addresses,
    get failEvents() {
      return sinks.control.failEvents;
    },
    set failEvents(value) {
      sinks.control.failEvents = value;
    },
    until: (condition) => arrived.until(condition, AbortSignal.timeout(ARRIVAL_MS)),
    dial: (address, port) => device.net.dial(address, port),
    channel: openChannel,
    connect: async (address, credentials) => {
      const channel = openChannel(address, credentials);
      await connected(channel);
      return channel;
    },
    close: async () => {
      for (const channel of channels) channel.close();
      await provision.close();
      await sinks.close();
      await device.close();
    },
  };
}

/** Admits machines with the right token, over UDP and, one alone, over gRPC. */
function startProvision(
  device: Device,
  key: KeyPair,
  { joins, addresses, arrived }: {
    readonly joins: JoinRequest[];
    readonly addresses: Map<string, string>;
    readonly arrived: Signal;
  },
): { readonly port: number; close(): Promise<void> } {
  const virtualEndpoint = `[${randomVirtualAddress()}]:${VIRTUAL_PORT}`;
  const join = async (request: JoinRequest): Promise<JoinReply> => {
    joins.push(request);
    arrived.fire();
    if (request.joinToken.reveal() !== TEST_TOKEN) {
      throw new CodedError("permissionDenied", "Join refused: wrong token");
    }
    const address = addresses.get(request.machineId) ?? randomNodeAddress();
    addresses.set(request.machineId, address);
    await device.peers.put(request.machineId, { publicKey: request.publicKey, allowedIp: address });
    return {
      serverEndpoints: [`127.0.0.1:${device.port}`],
      serverPublicKey: key.publicKey,
      serverAddress: SERVER_ADDRESS,
      nodeAddressPrefix: `${address}/64`,
      virtualEndpoint: request.overGrpc ? virtualEndpoint : "",
    };
  };
  const server = createRpcServer({
    log: silentLogger,
    services: [
      provisionService({ join }),
      wireguardOverGrpcService({
        packets: device.packets,
        isAllowed: (endpoint) => endpoint === virtualEndpoint,
      }),
    ],
  });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const running = server.serve(listener);
  return {
    port: listener.port,
    close: async () => {
      await server.drain(0);
      await running;
    },
  };
}

const CONNECT_MS = 10_000;

async function connected(channel: Channel): Promise<void> {
  const untilMs = Date.now() + CONNECT_MS;
  for (;;) {
    try {
      return await channel.connect();
    } catch (error) {
      if (Date.now() > untilMs) throw error;
      await systemClock.sleep(20);
    }
  }
}

async function startSinks(
  device: Device,
  addresses: ReadonlyMap<string, string>,
  arrived: Signal,
) {
  const events: MachineEvent[] = [];
  const kernelLines: string[] = [];
  const control = { failEvents: false };
  const eventServer = createRpcServer({
    log: silentLogger,
    services: [eventSinkService({
      publish: (_, event) => {
        if (control.failEvents) throw new CodedError("unavailable", "the sink is full");
        events.push(event);
        arrived.fire();
        return Promise.resolve();
      },
    })],
  });
  const eventListener = await device.net.listen(EVENTS_PORT);
  const logListener = await device.net.listen(LOGS_PORT);
  const running = Promise.all([
    eventServer.serve(eventListener),
    serveKernelLog(logListener, {
      clock: systemClock,
      log: silentLogger,
      port: {
        machineOf: (remote) => [...addresses].find(([, address]) => address === remote)?.[0],
        append: (_, line) => {
          kernelLines.push(line);
          arrived.fire();
          return Promise.resolve();
        },
      },
    }),
  ]);
  return {
    events,
    kernelLines,
    control,
    close: async () => {
      logListener.close();
      await eventServer.drain(0);
      await running;
    },
  };
}

function machineChannel(
  device: Device,
  address: string,
  credentials: TestCredentials | undefined,
): Channel {
  return createChannel({
    authority: `[${address}]:50000`,
    scheme: "https",
    backoff: { initialMs: 20, maximumMs: 100 },
    dial: async (signal) => {
      const stream = await device.net.dial(address, 50000, { signal });
      return await wrapTlsClient(
        stream,
        credentials === undefined
          ? { insecure: true, verifyAddress: address }
          : { ...credentials, verifyAddress: address },
      );
    },
  });
}
