// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The thread's side of the tunnel: a device that is driven by messages.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import { silentLogger } from "../base/log.ts";
import { loopTurn } from "../base/turn.ts";
import { writeAll } from "../rpc/write_all.ts";
import { type DeviceNet, startDevice } from "./device.ts";
import { clearKernelDevice, startKernelDevice, withAbandonedHint } from "./kernel_device.ts";
import type { QueueListener } from "./net/accept_queue.ts";
import type { IncomingTcp, TcpStream } from "./net/tcp_stream.ts";
import type { AttachedStream } from "./packet_streams.ts";
import { startTunDevice, type TunDevice } from "./tun_device.ts";
import { bindServerUdp } from "./udp_library.ts";
import {
  CHUNK_SIZE,
  errorMessage,
  type FromThread,
  type InnerKind,
  type Reply,
  type Request,
  type StartMessage,
  STREAM_CREDIT,
  type ToThread,
} from "./tunnel_messages.ts";

/** Posts a message, with the memory that moves along. */
export type Post = (message: FromThread, transfer: ArrayBuffer[]) => void;

/** Takes the messages of the program. */
export interface TunnelHost {
  handle(message: ToThread): void;
}

/** Serves a program; nothing runs before its first request, "start". */
export function createTunnelHost(post: Post): TunnelHost {
  const streams = new Map<number, HostedStream>();
  const listeners = new Map<number, QueueListener<IncomingTcp>>();
  const cancels = new Map<number, AbortController>();
  const ways = new Map<number, AttachedStream>();
  let device: TunDevice | undefined;
  /** Absent when the program reaches the tunnel through the kernel. */
  let net: DeviceNet | undefined;
  let nextHandle = 1;

  const addStream = (stream: TcpStream): number => {
    const handle = nextHandle++;
    streams.set(handle, hostStream(handle, stream, post, () => streams.delete(handle)));
    return handle;
  };
  const accept = async (handle: number, listener: QueueListener<IncomingTcp>): Promise<void> => {
    for await (const { stream, remoteAddress, remotePort } of listener) {
      const added = addStream(stream);
      post({ kind: "accepted", listener: handle, stream: added, remoteAddress, remotePort }, []);
      streams.get(added)?.start();
    }
  };
  const attach = (way: number, endpoint: string): void => {
    const attached = device?.packets.attach(endpoint, {
      send: (bytes) => post({ kind: "packet", way, bytes }, [bytes.buffer as ArrayBuffer]),
      end: (error) => post({ kind: "detached", way, error: errorMessage(error) }, []),
    });
    if (attached !== undefined) ways.set(way, attached);
  };
  const innerNet = (): DeviceNet => {
    if (net === undefined) throw new CodedError("unavailable", "Cannot use the tunnel: closed");
    return net;
  };
  const started = (): TunDevice => {
    if (device === undefined) throw new CodedError("unavailable", "Cannot use the tunnel: closed");
    return device;
  };
  const start = async (inner: InnerKind, options: StartMessage): Promise<TunDevice> => {
    if (inner === "kernel") return await startKernelDevice(options);
    clearKernelDevice(options);
    const all = { ...options, log: silentLogger, bindUdp: bindServerUdp };
    if (inner === "tun") return await startTunDevice(all);
    const user = await startDevice(all).catch((error) => {
      throw withAbandonedHint(error);
    });
    net = user.net;
    return user;
  };
  const answer = async (request: Request, signal: AbortSignal): Promise<Reply> => {
    switch (request.kind) {
      case "start": {
        device = await start(request.inner, request.options);
        device.failed.catch((error) => post({ kind: "failed", error: errorMessage(error) }, []));
        return {
          port: device.port,
          ...(device.receiveBufferBytes === undefined
            ? {}
            : { receiveBufferBytes: device.receiveBufferBytes }),
        };
      }
      case "listen": {
        const listener = await innerNet().listen(request.port);
        const handle = nextHandle++;
        listeners.set(handle, listener);
        void accept(handle, listener).finally(() => listeners.delete(handle));
        return { handle, port: listener.port };
      }
      case "dial": {
        const stream = await innerNet().dial(request.address, request.port, { signal });
        return { handle: addStream(stream) };
      }
      case "putPeer":
        await started().peers.put(request.peer, request.config, { signal });
        return {};
      case "removePeer":
        await started().peers.remove(request.peer, { signal });
        return {};
      case "stats":
        return { stats: await started().peers.stats() };
      case "close":
        await device?.close();
        device = net = undefined;
        return {};
    }
  };
  const serve = async (id: number, request: Request): Promise<void> => {
    const cancel = new AbortController();
    cancels.set(id, cancel);
    try {
      const reply = await answer(request, cancel.signal);
      post({ kind: "reply", id, reply }, []);
      // Nothing of a stream may overtake the message that names it.
      if (reply.handle !== undefined) streams.get(reply.handle)?.start();
    } catch (error) {
      post({ kind: "error", id, error: errorMessage(error) }, []);
    } finally {
      cancels.delete(id);
    }
  };
  return {
    handle(message) {
      switch (message.kind) {
        case "request":
          return void serve(message.id, message.request);
        case "cancel":
          return cancels.get(message.id)?.abort();
        case "closeListener":
          return listeners.get(message.listener)?.close();
        case "data":
          return streams.get(message.stream)?.write(message.bytes);
        case "credit":
          return streams.get(message.stream)?.addCredit(message.bytes);
        case "closeWrite":
          return streams.get(message.stream)?.closeWrite();
        case "closeStream":
          return streams.get(message.stream)?.close();
        case "attach":
          return attach(message.way, message.endpoint);
        case "packet":
          return ways.get(message.way)?.receive(message.bytes);
        case "detach":
          ways.get(message.way)?.detach();
          ways.delete(message.way);
          return;
      }
    },
  };
}

interface HostedStream {
  /** Begins to read. */
  start(): void;
  write(bytes: Uint8Array): void;
  addCredit(bytes: number): void;
  closeWrite(): void;
  close(): void;
}

/** Moves the bytes of a stream both ways until the program closes it. */
function hostStream(
  handle: number,
  stream: TcpStream,
  post: Post,
  onDone: () => void,
): HostedStream {
  const outgoing: Uint8Array[] = [];
  let credit = STREAM_CREDIT;
  let onCredit = (): void => {};
  let isWriteClosing = false;
  let isWriting = false;
  let isWriteBroken = false;
  let isClosed = false;

  const broken = (error: unknown): void => {
    if (!isClosed) post({ kind: "broken", stream: handle, error: errorMessage(error) }, []);
  };
  const pumpIn = async (): Promise<void> => {
    while (!isClosed) {
      if (credit <= 0) await new Promise<void>((resolve) => onCredit = resolve);
      await stream.readable();
      // What comes in during one turn goes over in one message, not in one for each packet.
      await loopTurn();
      if (isClosed) return;
      const bytes = new Uint8Array(Math.min(stream.available, credit, CHUNK_SIZE));
      if (bytes.length === 0 && credit > 0) return post({ kind: "end", stream: handle }, []);
      // Credit may come in while this waits.
      const count = await stream.read(bytes) ?? 0;
      credit -= count;
      if (bytes.length > 0) post({ kind: "data", stream: handle, bytes }, [bytes.buffer]);
    }
  };
  const pumpOut = async (): Promise<void> => {
    isWriting = true;
    while (true) {
      const bytes = outgoing.shift();
      if (bytes !== undefined) {
        await writeAll(stream, bytes);
        if (!isClosed) post({ kind: "credit", stream: handle, bytes: bytes.length }, []);
      } else if (isWriteClosing) {
        isWriteClosing = false;
        await stream.closeWrite();
      } else {
        // In one step with the look at the queue: a message may come between any two others.
        isWriting = false;
        // What was written before the close has gone out.
        if (isClosed) stream.close();
        return;
      }
    }
  };
  const startWriting = (): void => {
    if (isWriting || isWriteBroken) return;
    pumpOut().catch((error) => {
      isWriteBroken = true;
      outgoing.length = 0;
      if (isClosed) stream.close();
      broken(error);
    });
  };
  return {
    start: () => void pumpIn().catch(broken),
    write(bytes) {
      outgoing.push(bytes);
      startWriting();
    },
    addCredit(bytes) {
      credit += bytes;
      onCredit();
    },
    closeWrite() {
      isWriteClosing = true;
      startWriting();
    },
    close() {
      isClosed = true;
      onCredit();
      if (!isWriting || isWriteBroken) stream.close();
      onDone();
    },
  };
}
