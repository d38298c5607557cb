// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Services: handlers by method, from a protobuf descriptor or on bytes as they are on the wire.
 *
 * @module
 */

import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";
import type { Metadata, MetadataValue } from "./metadata.ts";

/** What a handler knows of its call and can say besides its messages. */
export interface CallContext {
  /** `/package.Service/Method` as requested. */
  readonly path: string;
  /** What the client sent along. */
  readonly metadata: Metadata;
  /** Aborts when the client goes away or the deadline passes. It is made when it is first read. */
  readonly signal: AbortSignal;
  /** Whether the client went away or the deadline passed. */
  readonly cancelled: boolean;
  /**
   * Calls `callback` once when the client goes away or the deadline passes, at once when that has
   * happened. For streams that many clients leave open: a listener of `signal` takes a KiB for each.
   */
  onCancel(callback: () => void): void;
  /** Time that the client gave the whole call, in milliseconds; `undefined` without a deadline. */
  readonly deadlineMs: number | undefined;
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** Adds a header to the reply. Throws `TypeError` once headers are sent or when it cannot be sent. */
  setHeader(key: string, value: MetadataValue): void;
  /** Adds a trailer to the reply. */
  setTrailer(key: string, value: MetadataValue): void;
  /** Sends the headers ahead of the first message. */
  sendHeaders(): void;
  /** Whether the message that came last was compressed. */
  readonly wasCompressed: boolean;
  /**
   * Compresses the messages that follow, or no longer does. Nothing happens when the client does not
   * accept gzip, or when headers without it are sent.
   */
  compressReplies(enabled: boolean): void;
}

/** The shape of a method, as metrics name it. */
export type MethodType = "unary" | "server_stream" | "client_stream" | "bidi_stream";

/** Takes messages of a stream. */
export interface MessageSink {
  /**
   * Sends one message. A sender of many waits for the promise when there is one; messages that are
   * sent without waiting leave together.
   */
  send(message: Uint8Array): Promise<void> | undefined;
  /** Sends one message that comes in pieces, `size` bytes in all, without putting them together. */
  sendParts(parts: readonly Uint8Array[], size: number): Promise<void> | undefined;
}

/** A method on bytes. Requests belong to the handler; replies must not change after they are given. */
export type RawMethod =
  | { unary(request: Uint8Array, context: CallContext): Uint8Array | Promise<Uint8Array> }
  | { serverStream(request: Uint8Array, context: CallContext): AsyncIterable<Uint8Array> }
  | { serverSink(request: Uint8Array, context: CallContext, sink: MessageSink): Promise<void> }
  | { clientStream(requests: AsyncIterable<Uint8Array>, context: CallContext): Promise<Uint8Array> }
  | { bidi(requests: AsyncIterable<Uint8Array>, context: CallContext): AsyncIterable<Uint8Array> };

/** A method as the server runs it. */
export interface ServiceMethod {
  readonly service: string;
  readonly name: string;
  readonly path: string;
  readonly type: MethodType;
  readonly handler: RawMethod;
}

/** Methods under one full name. */
export interface Service {
  readonly name: string;
  readonly methods: readonly ServiceMethod[];
}

/** The handler of one method of a descriptor. */
export type Handler<M> = M extends {
  methodKind: infer K;
  input: infer I extends DescMessage;
  output: infer O extends DescMessage;
} ? K extends "unary" ? (
      request: MessageShape<I>,
      context: CallContext,
    ) => Promise<MessageInitShape<O>> | MessageInitShape<O>
  : K extends "server_streaming" ? (
      request: MessageShape<I>,
      context: CallContext,
    ) => AsyncIterable<MessageInitShape<O>>
  : K extends "client_streaming" ? (
      requests: AsyncIterable<MessageShape<I>>,
      context: CallContext,
    ) => Promise<MessageInitShape<O>>
  : K extends "bidi_streaming" ? (
      requests: AsyncIterable<MessageShape<I>>,
      context: CallContext,
    ) => AsyncIterable<MessageInitShape<O>>
  : never
  : never;

/** The handlers of a service, by method name in camel case. */
export type Handlers<S extends DescService> = { [K in keyof S["method"]]: Handler<S["method"][K]> };

/** A service on bytes: `methods` by their names on the wire, for example `Get`. */
export function rawService(name: string, methods: Readonly<Record<string, RawMethod>>): Service {
  return {
    name,
    methods: Object.entries(methods).map(([method, handler]) => ({
      service: name,
      name: method,
      path: `/${name}/${method}`,
      type: typeOf(handler),
      handler,
    })),
  };
}

/**
 * A service of a descriptor. Methods without a handler answer UNIMPLEMENTED with their name.
 *
 * @param options `name` registers it under another full name than the descriptor's.
 */
export function implementService<S extends DescService>(
  desc: S,
  handlers: Partial<Handlers<S>>,
  options: { readonly name?: string } = {},
): Service {
  const name = options.name ?? desc.typeName;
  const byName = handlers as Readonly<Record<string, LooseHandler | undefined>>;
  const methods = desc.methods.map((method): [string, RawMethod] => {
    const handler = byName[method.localName];
    return [method.name, rawMethod(method, handler ?? missing(name, method))];
  });
  return rawService(name, Object.fromEntries(methods));
}

// Handlers of all kinds at once; which one it is the descriptor knows.
type LooseHandler = (request: unknown, context: CallContext) => unknown;

function missing(service: string, method: DescMethod): LooseHandler {
  return () => {
    throw new CodedError(
      "unimplemented",
      `Method "${method.name}" of ${service} is not implemented`,
    );
  };
}

function typeOf(handler: RawMethod): MethodType {
  if ("unary" in handler) return "unary";
  if ("clientStream" in handler) return "client_stream";
  return "bidi" in handler ? "bidi_stream" : "server_stream";
}

function rawMethod(method: DescMethod, handler: LooseHandler): RawMethod {
  const decode = (bytes: Uint8Array): unknown => decodeRequest(method.input, bytes);
  const encode = (reply: unknown): Uint8Array => encodeMessage(method.output, reply);
  switch (method.methodKind) {
    case "unary":
      return {
        unary: (request, context) => {
          const reply = handler(decode(request), context);
          return reply instanceof Promise ? reply.then(encode) : encode(reply);
        },
      };
    case "server_streaming":
      return {
        serverStream: (request, context) =>
          mapStream(handler(decode(request), context) as AsyncIterable<unknown>, encode),
      };
    case "client_streaming":
      return {
        clientStream: async (requests, context) =>
          encode(await handler(mapStream(requests, decode), context)),
      };
    case "bidi_streaming":
      return {
        bidi: (requests, context) =>
          mapStream(
            handler(mapStream(requests, decode), context) as AsyncIterable<unknown>,
            encode,
          ),
      };
  }
}

/** Changes the items of a stream one by one. */
export async function* mapStream<A, B>(
  source: AsyncIterable<A>,
  map: (item: A) => B,
): AsyncIterable<B> {
  for await (const item of source) yield map(item);
}

/** Decodes a request: bytes that are none are the client's fault, and no failure of ours. */
function decodeRequest(desc: DescMessage, bytes: Uint8Array): unknown {
  try {
    return fromBinary(desc, bytes);
  } catch (cause) {
    throw new CodedError("invalidArgument", `Cannot decode a ${desc.typeName}`, { cause });
  }
}

/** Decodes a reply. Throws a `CodedError` when the bytes are not one. */
export function decodeMessage<D extends DescMessage>(desc: D, bytes: Uint8Array): MessageShape<D> {
  try {
    return fromBinary(desc, bytes);
  } catch (cause) {
    throw new CodedError("internal", `Cannot decode a ${desc.typeName}`, { cause });
  }
}

/** Encodes a message or the initial values of one. */
export function encodeMessage(desc: DescMessage, message: unknown): Uint8Array {
  return toBinary(desc, create(desc, message as MessageInitShape<DescMessage>));
}
