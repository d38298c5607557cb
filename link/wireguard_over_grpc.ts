// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * WireGuard over gRPC, for machines whose network lets no UDP out: each message of a stream is one
 * WireGuard packet. The server's service and the machine's client.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Clock, systemClock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import { backoffMs } from "../base/retry.ts";
import {
  type PeerPacketSchema,
  WireGuardOverGRPCService,
} from "../proto/gen/siderolink/link_pb.ts";
import { type Channel, createClient } from "../rpc/client.ts";
import { type CallContext, implementService, type Service } from "../rpc/service.ts";
import { formatIpv6, isVirtualAddress, parseIpv6 } from "./addresses.ts";
import type { PacketStreams } from "./packet_streams.ts";
import { formatEndpoint, parseEndpoint } from "./udp.ts";

type Packet = MessageInitShape<typeof PeerPacketSchema>;

/** The metadata by which a machine names its endpoint, `[address]:port`. */
const ENDPOINT_KEY = "x-siderolink-ipv6-addr";
/** Packets to one machine that wait; the oldest go first, for the newest says most. */
const QUEUE_LIMIT = 256;
/** A larger message is no WireGuard packet of a tunnel with our MTU. */
const MAX_PACKET_SIZE = 2048;
/** How long the end of a stream that was replaced is held back; it doubles each time. */
const REPLACED_DELAY = { initialMs: 5_000, maximumMs: 120_000 } as const;
/** A quiet time after which a replacement counts as the first again. */
const REPLACED_MEMORY_MS = 600_000;

/** Options of {@linkcode wireguardOverGrpcService}. */
export interface OverGrpcOptions {
  readonly packets: PacketStreams;
  /** Whether an endpoint, `[address]:port` in canonical form, was given to a machine. */
  isAllowed(endpoint: string): boolean | Promise<boolean>;
  readonly clock?: Clock;
}

interface Replacements {
  count: number;
  lastMs: number;
}

/** The service that carries packets between machines and the device. */
export function wireguardOverGrpcService(options: OverGrpcOptions): Service {
  const { packets, clock = systemClock } = options;
  const replacements = new Map<string, Replacements>();

  /** Two machines with one endpoint must not throw each other out for ever. */
  const replacedDelayMs = (endpoint: string): number => {
    const nowMs = clock.nowMs();
    for (const [key, { lastMs }] of replacements) {
      if (nowMs - lastMs > REPLACED_MEMORY_MS) replacements.delete(key);
    }
    const entry = replacements.get(endpoint) ?? { count: 0, lastMs: nowMs };
    entry.count++;
    entry.lastMs = nowMs;
    replacements.set(endpoint, entry);
    // The first is most often the machine itself, back after its connection broke: no delay.
    return entry.count < 2 ? 0 : backoffMs(entry.count - 1, REPLACED_DELAY);
  };
  return implementService(WireGuardOverGRPCService, {
    createStream: async function* (requests, context) {
      const endpoint = readEndpoint(context);
      if (!await options.isAllowed(endpoint)) {
        throw new CodedError("permissionDenied", "peer not allowed");
      }
      const queue = new PacketQueue();
      const attached = packets.attach(endpoint, queue);
      // It ends by itself when the call does.
      void receiveAll(requests, attached.receive, queue);
      const onAbort = (): void => queue.end(undefined);
      context.signal.addEventListener("abort", onAbort, { once: true });
      try {
        context.sendHeaders();
        yield* queue;
      } catch (error) {
        if (error instanceof CodedError && error.code === "aborted") {
          await clock.sleep(replacedDelayMs(endpoint), context.signal);
        }
        throw error;
      } finally {
        context.signal.removeEventListener("abort", onAbort);
        attached.detach();
      }
    },
  });
}

function readEndpoint({ metadata }: CallContext): string {
  const text = metadata.text(ENDPOINT_KEY);
  if (text === undefined) {
    throw new CodedError("invalidArgument", `Cannot open stream: "${ENDPOINT_KEY}" is missing`);
  }
  const endpoint = parseEndpoint(text);
  const address = parseIpv6(endpoint.hostname);
  if (address === undefined || !isVirtualAddress(address)) {
    throw new CodedError("permissionDenied", "peer not allowed");
  }
  return formatEndpoint({ hostname: formatIpv6(address), port: endpoint.port });
}

/** Takes packets until the sender ends, which ends the queue of the other direction too. */
async function receiveAll(
  requests: AsyncIterable<{ readonly Data: Uint8Array }>,
  receive: (packet: Uint8Array) => void,
  queue: PacketQueue,
): Promise<void> {
  try {
    for await (const { Data } of requests) if (Data.length <= MAX_PACKET_SIZE) receive(Data);
    queue.end(undefined);
  } catch {
    // A stream that breaks ends the call; there is nobody to tell.
    queue.end(undefined);
  }
}

/** Options of {@linkcode runOverGrpc}. */
export interface OverGrpcClientOptions {
  readonly channel: Channel;
  readonly packets: PacketStreams;
  /** The endpoint that the reply to Provision has told. */
  readonly endpoint: string;
  readonly signal: AbortSignal;
}

/**
 * The machine's side: carries packets between its device and the server until the stream ends.
 *
 * The device has the server's peer under the same endpoint, and sends there.
 *
 * @throws CodedError of the call, for example `aborted` when another stream took its place.
 */
export async function runOverGrpc(options: OverGrpcClientOptions): Promise<void> {
  const { channel, packets, endpoint, signal } = options;
  const queue = new PacketQueue();
  const attached = packets.attach(endpoint, queue);
  const onAbort = (): void => queue.end(undefined);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const client = createClient(WireGuardOverGRPCService, channel);
    const replies = client.createStream(queue, { metadata: { [ENDPOINT_KEY]: endpoint }, signal });
    for await (const { Data } of replies) attached.receive(Data);
  } finally {
    signal.removeEventListener("abort", onAbort);
    attached.detach();
    queue.end(undefined);
  }
}

/** Packets that wait for a stream: a bounded queue in which the newest wins. */
class PacketQueue implements AsyncIterable<Packet> {
  readonly #packets: Uint8Array[] = [];
  #wake = (): void => {};
  #isEnded = false;
  #reason: CodedError | undefined;

  send(packet: Uint8Array): void {
    if (this.#isEnded) return;
    if (this.#packets.length >= QUEUE_LIMIT) this.#packets.shift();
    this.#packets.push(packet);
    this.#wake();
  }

  end(reason: CodedError | undefined): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#reason = reason;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Packet> {
    while (true) {
      const Data = this.#packets.shift();
      if (Data !== undefined) yield { Data };
      else if (this.#reason !== undefined) throw this.#reason;
      else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => this.#wake = resolve);
    }
  }
}
