// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Typed clients over a {@linkcode Channel}.
 *
 * @module
 */

import {
  type DescMessage,
  type DescMethod,
  type DescService,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";
import type { Channel } from "./channel.ts";
import type { CallOptions } from "./client_call.ts";
import type { RawStream } from "./client_stream.ts";
import { decodeMessage, encodeMessage, mapStream } from "./service.ts";

export { type Channel, type ChannelOptions, type ChannelState, createChannel } from "./channel.ts";
export type { RawStream } from "./client_stream.ts";
export type { CallOptions } from "./client_call.ts";

/** One method of a client; it throws a `CodedError` when the call fails. */
export type ClientMethod<M> = M extends {
  methodKind: infer K;
  input: infer I extends DescMessage;
  output: infer O extends DescMessage;
} ? K extends "unary" ? (
      request: MessageInitShape<I>,
      options?: CallOptions,
    ) => Promise<MessageShape<O>>
  : K extends "server_streaming" ? (
      request: MessageInitShape<I>,
      options?: CallOptions,
    ) => AsyncIterable<MessageShape<O>>
  : K extends "client_streaming" ? (
      requests: AsyncIterable<MessageInitShape<I>>,
      options?: CallOptions,
    ) => Promise<MessageShape<O>>
  : K extends "bidi_streaming" ? (
      requests: AsyncIterable<MessageInitShape<I>>,
      options?: CallOptions,
    ) => AsyncIterable<MessageShape<O>>
  : never
  : never;

/** The methods of a service, by method name in camel case. */
export type Client<S extends DescService> = {
  [K in keyof S["method"]]: ClientMethod<S["method"][K]>;
};

/**
 * A client of a service.
 *
 * @param options `name` calls the service under another full name than the descriptor's.
 */
export function createClient<S extends DescService>(
  desc: S,
  channel: Channel,
  options: { readonly name?: string } = {},
): Client<S> {
  const name = options.name ?? desc.typeName;
  const methods: Record<string, unknown> = {};
  for (const method of desc.methods) {
    methods[method.localName] = clientMethod(channel, `/${name}/${method.name}`, method);
  }
  // The loop builds exactly the methods that the type lists.
  return methods as Client<S>;
}

function clientMethod(channel: Channel, path: string, method: DescMethod): unknown {
  const encode = (message: unknown): Uint8Array => encodeMessage(method.input, message);
  const decode = (bytes: Uint8Array): unknown => decodeMessage(method.output, bytes);
  switch (method.methodKind) {
    case "unary":
      return async (request: unknown, options?: CallOptions) =>
        decode(await channel.rawCall(path, encode(request), options));
    case "server_streaming":
      return (request: unknown, options?: CallOptions) =>
        stream(channel, path, [encode(request)], decode, options);
    case "client_streaming":
      return async (requests: AsyncIterable<unknown>, options?: CallOptions) => {
        let reply: { readonly message: unknown } | undefined;
        for await (
          const message of stream(channel, path, mapStream(requests, encode), decode, options)
        ) {
          if (reply !== undefined) {
            throw new CodedError("internal", `Call of ${path} got two replies`);
          }
          reply = { message };
        }
        if (reply === undefined) {
          throw new CodedError("internal", `Call of ${path} ended without a reply`);
        }
        return reply.message;
      };
    case "bidi_streaming":
      return (requests: AsyncIterable<unknown>, options?: CallOptions) =>
        stream(channel, path, mapStream(requests, encode), decode, options);
  }
}

async function* stream(
  channel: Channel,
  path: string,
  requests: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  decode: (bytes: Uint8Array) => unknown,
  options: CallOptions | undefined,
): AsyncGenerator<unknown> {
  const call = channel.rawStream(path, options);
  let requestError: unknown;
  void sendRequests(call, requests).catch((error) => {
    requestError = error;
    call.cancel();
  });
  try {
    for await (const message of call.messages) yield decode(message);
  } catch (error) {
    throw requestError ?? error;
  } finally {
    call.cancel();
  }
}

/** Sends requests until they or the call end; a source that is waited for then ends with its next. */
async function sendRequests(
  call: RawStream,
  requests: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): Promise<void> {
  for await (const request of requests) {
    await call.send(request);
    if (call.ended) return;
  }
  call.end();
}
