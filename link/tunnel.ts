// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server's tunnel: a device in a thread of its own, so that a busy program never delays packets.
 *
 * @module
 */

import { CodedError, codeOf, formatError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import { startWorker } from "../base/worker.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { type AcceptQueue, createAcceptQueue } from "./net/accept_queue.ts";
import type { PacketSink, PacketStreams } from "./packet_streams.ts";
import type { PeerStats, PeerTable } from "./peers.ts";
import {
  errorOf,
  type FromThread,
  type InnerKind,
  type Reply,
  type Request,
  type StartMessage,
  type ToThread,
} from "./tunnel_messages.ts";
import { kernelNet } from "./kernel_net.ts";
import type { TunnelNet } from "./tunnel_net.ts";
import { formatEndpoint, parseEndpoint } from "./udp.ts";
import { createThreadStream, type ThreadStream } from "./tunnel_stream.ts";

/** How the tunnel's inner side is carried. */
export type TunnelMode = "auto" | "tun" | "user" | "kernel";

/** Options of {@linkcode startTunnel}. */
export interface TunnelOptions extends StartMessage {
  readonly mode: TunnelMode;
  readonly log: Logger;
}

/** A running tunnel. */
export interface Tunnel {
  readonly net: TunnelNet;
  readonly peers: PeerTable;
  /** The UDP port that is bound. */
  readonly port: number;
  /** Rejects when the tunnel breaks, which it does not survive; stays pending otherwise. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

/** A tunnel that also takes packets that did not come over UDP. */
export interface PacketTunnel extends Tunnel {
  readonly packets: PacketStreams;
}

/**
 * Starts the tunnel.
 *
 * @throws CodedError `invalidArgument` for a malformed key or address, `unavailable` when the port
 *   cannot be bound, `unsupported` for a mode that this system does not have; for the kernel's
 *   WireGuard also `permissionDenied`, and `alreadyExists` when its interface is somebody else's.
 */
export async function startTunnel(options: TunnelOptions): Promise<PacketTunnel> {
  const { mode, log, ...start } = options;
  const worker = await startWorker("tunnel", new URL("./tunnel_worker.ts", import.meta.url));
  const client = createClient(worker);
  try {
    const { inner, port } = await startInner(client, mode, start, log);
    return {
      port,
      net: inner === "user" ? client.net : kernelNet(start.address),
      peers: client.peers,
      packets: client.packets,
      failed: client.failed,
      async close() {
        await client.ask({ kind: "close" }, ignore).catch(() => {});
        client.stop();
      },
    };
  } catch (error) {
    client.stop();
    throw error;
  }
}

/**
 * Asks the thread for something.
 *
 * `take` runs in one step with the arrival of the reply: the next message may already be about what
 * the reply names.
 */
type Ask = <T>(
  request: Request,
  take: (reply: Reply) => T,
  signal?: AbortSignal,
) => Promise<T>;

/** Starts the device in the first way that works, and says which and why. */
async function startInner(
  client: Client,
  mode: TunnelMode,
  options: StartMessage,
  log: Logger,
): Promise<{ inner: InnerKind; port: number }> {
  const start = async (inner: InnerKind, what: string, reason?: string) => {
    const { port = 0, receiveBufferBytes } = await client.ask(
      { kind: "start", inner, options },
      (reply) => reply,
    );
    log.info(what, {
      address: options.address,
      // Without it, it is what the system gives every socket.
      ...(receiveBufferBytes === undefined ? {} : { receiveBufferBytes }),
      ...(reason === undefined ? {} : { reason }),
    });
    return { inner, port };
  };
  if (mode === "kernel") {
    return await start("kernel", "tunnel started with the kernel's WireGuard");
  }
  let reason = "as configured";
  if (mode !== "user") {
    try {
      return await start("tun", "tunnel started over a TUN interface");
    } catch (error) {
      if (mode === "tun" || codeOf(error) !== "unsupported") throw error;
      reason = formatError(error);
    }
  }
  return await start("user", "tunnel started with its own TCP", reason);
}

interface Client {
  readonly net: TunnelNet;
  readonly peers: PeerTable;
  readonly packets: PacketStreams;
  readonly failed: Promise<never>;
  ask: Ask;
  stop(): void;
}

interface Pending {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: Error) => void;
}

function createClient(worker: Worker): Client {
  const pending = new Map<number, Pending>();
  const streams = new Map<number, ThreadStream>();
  const queues = new Map<number, AcceptQueue>();
  const sinks = new Map<number, PacketSink>();
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => {});
  let nextId = 1;
  let stopped: CodedError | undefined;

  const post = (message: ToThread, transfer: Transferable[]): void => {
    if (stopped === undefined) worker.postMessage(message, transfer);
  };
  const stop = (error: CodedError): void => {
    if (stopped !== undefined) return;
    stopped = error;
    worker.terminate();
    for (const { reject } of pending.values()) reject(error);
    for (const stream of streams.values()) stream.onBroken(error);
    for (const queue of [...queues.values()]) queue.listener.close();
    for (const sink of sinks.values()) sink.end(error);
    pending.clear();
    streams.clear();
    sinks.clear();
  };
  const fail = (error: CodedError): void => {
    failure.reject(error);
    stop(error);
  };
  const ask: Ask = <T>(
    request: Request,
    take: (reply: Reply) => T,
    signal?: AbortSignal,
  ): Promise<T> => {
    if (stopped !== undefined) return Promise.reject(stopped);
    if (signal?.aborted) return Promise.reject(cancelled(signal));
    const id = nextId++;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    pending.set(id, { resolve: (reply) => resolve(take(reply)), reject });
    const onAbort = (): void => post({ kind: "cancel", id }, []);
    signal?.addEventListener("abort", onAbort, { once: true });
    post({ kind: "request", id, request }, []);
    return promise.finally(() => signal?.removeEventListener("abort", onAbort));
  };
  const addStream = (handle: number): ByteStream => {
    const stream = createThreadStream(handle, post, () => streams.delete(handle));
    streams.set(handle, stream);
    return stream;
  };
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    switch (data.kind) {
      case "reply":
      case "error": {
        const request = pending.get(data.id);
        pending.delete(data.id);
        if (data.kind === "error") request?.reject(errorOf(data.error));
        else request?.resolve(data.reply);
        return;
      }
      case "accepted": {
        const { remoteAddress, remotePort } = data;
        const stream = addStream(data.stream);
        const queue = queues.get(data.listener);
        if (queue === undefined) stream.close();
        else queue.push({ stream, remoteAddress, remotePort });
        return;
      }
      case "data":
        return streams.get(data.stream)?.onData(data.bytes);
      case "credit":
        return streams.get(data.stream)?.onCredit(data.bytes);
      case "end":
        return streams.get(data.stream)?.onEnd();
      case "broken":
        return streams.get(data.stream)?.onBroken(errorOf(data.error));
      case "packet":
        return sinks.get(data.way)?.send(data.bytes);
      case "detached":
        sinks.get(data.way)?.end(errorOf(data.error));
        sinks.delete(data.way);
        return;
      case "failed":
        return fail(errorOf(data.error));
    }
  };
  worker.onerror = (event) => {
    event.preventDefault();
    fail(new CodedError("internal", `Cannot go on with the tunnel: ${event.message}`));
  };
  return {
    ask,
    stop: () => stop(new CodedError("unavailable", "Cannot use the tunnel: closed")),
    failed: failure.promise,
    net: threadNet(ask, post, addStream, queues),
    peers: threadPeers(ask),
    packets: threadPackets(post, sinks),
  };
}

function threadNet(
  ask: Ask,
  post: (message: ToThread, transfer: Transferable[]) => void,
  addStream: (handle: number) => ByteStream,
  queues: Map<number, AcceptQueue>,
): TunnelNet {
  return {
    listen: (wanted) =>
      ask({ kind: "listen", port: wanted }, ({ handle = 0, port = 0 }) => {
        const queue = createAcceptQueue(port, () => {
          queues.delete(handle);
          post({ kind: "closeListener", listener: handle }, []);
        });
        queues.set(handle, queue);
        return queue.listener;
      }),
    dial: (address, port, { signal } = {}) =>
      ask({ kind: "dial", address, port }, ({ handle = 0 }) => addStream(handle), signal),
  };
}

function threadPackets(
  post: (message: ToThread, transfer: Transferable[]) => void,
  sinks: Map<number, PacketSink>,
): PacketStreams {
  let nextWay = 1;
  return {
    attach(endpoint, sink) {
      // A malformed name is refused here, where the caller still hears of it.
      const name = formatEndpoint(parseEndpoint(endpoint));
      const way = nextWay++;
      sinks.set(way, sink);
      post({ kind: "attach", way, endpoint: name }, []);
      return {
        receive(packet) {
          const bytes = packet.slice();
          post({ kind: "packet", way, bytes }, [bytes.buffer]);
        },
        detach() {
          sinks.delete(way);
          post({ kind: "detach", way }, []);
        },
      };
    },
  };
}

function threadPeers(ask: Ask): PeerTable {
  return {
    put: (peer, config, { signal } = {}) => ask({ kind: "putPeer", peer, config }, ignore, signal),
    remove: (peer, { signal } = {}) => ask({ kind: "removePeer", peer }, ignore, signal),
    stats: () => ask({ kind: "stats" }, ({ stats }) => stats ?? new Map<string, PeerStats>()),
  };
}

function ignore(): void {}

function cancelled(signal: AbortSignal): CodedError {
  return new CodedError("cancelled", "Cannot use the tunnel: it was cancelled", {
    cause: signal.reason,
  });
}
