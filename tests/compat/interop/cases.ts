// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The client side of the gRPC interoperability suite, on the project's own client.
 *
 * @module
 */

import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { type Channel, createClient, type RawStream } from "../../../rpc/client.ts";
import type { Metadata } from "../../../rpc/metadata.ts";
import {
  SimpleRequestSchema,
  SimpleResponseSchema,
  StreamingInputCallRequestSchema,
  StreamingInputCallResponseSchema,
  StreamingOutputCallRequestSchema,
  StreamingOutputCallResponseSchema,
  TestService,
  UnimplementedService,
} from "./interop_pb.ts";

/** One case: calls a server that runs the suite's service and throws when it is not as it should be. */
export type InteropCase = (channel: Channel) => Promise<void>;

const REQUEST_SIZES = [27182, 8, 1828, 45904];
const RESPONSE_SIZES = [31415, 9, 2653, 58979];
const LARGE_REQUEST = 271828;
const LARGE_RESPONSE = 314159;
const SERVICE = "/grpc.testing.TestService";

const zeros = (size: number): { body: Uint8Array } => ({ body: new Uint8Array(size) });

function duplex(channel: Channel, options: Parameters<Channel["rawStream"]>[1] = {}): Duplex {
  return new Duplex(channel.rawStream(`${SERVICE}/FullDuplexCall`, options));
}

/** A full-duplex call, message by message. */
class Duplex {
  constructor(readonly stream: RawStream) {}

  async send(request: MessageInitShape<typeof StreamingOutputCallRequestSchema>): Promise<void> {
    const message = create(StreamingOutputCallRequestSchema, request);
    await this.stream.send(toBinary(StreamingOutputCallRequestSchema, message));
  }

  /** The size of the next reply, `undefined` at the end. */
  async size(): Promise<number | undefined> {
    const { value, done } = await this.stream.messages.next();
    if (done || value === undefined) return undefined;
    return fromBinary(StreamingOutputCallResponseSchema, value).payload?.body.length ?? 0;
  }
}

/** The cases that every server of the suite passes, by their public names. */
export const INTEROP_CASES: Readonly<Record<string, InteropCase>> = {
  empty_unary: async (channel) => {
    await createClient(TestService, channel).emptyCall({});
  },
  large_unary: async (channel) => {
    const reply = await createClient(TestService, channel).unaryCall({
      responseSize: LARGE_RESPONSE,
      payload: zeros(LARGE_REQUEST),
    });
    assert.equal(reply.payload?.body.length, LARGE_RESPONSE);
  },
  client_streaming: async (channel) => {
    const requests = async function* () {
      for (const size of REQUEST_SIZES) yield await Promise.resolve({ payload: zeros(size) });
    };
    const reply = await createClient(TestService, channel).streamingInputCall(requests());
    assert.equal(reply.aggregatedPayloadSize, 74922);
  },
  server_streaming: async (channel) => {
    const sizes: (number | undefined)[] = [];
    const replies = createClient(TestService, channel).streamingOutputCall({
      responseParameters: RESPONSE_SIZES.map((size) => ({ size })),
    });
    for await (const { payload } of replies) sizes.push(payload?.body.length);
    assert.deepEqual(sizes, RESPONSE_SIZES);
  },
  ping_pong: async (channel) => {
    const call = duplex(channel);
    for (const [at, size] of RESPONSE_SIZES.entries()) {
      const payload = zeros(REQUEST_SIZES[at] ?? 0);
      await call.send({ responseParameters: [{ size }], payload });
      assert.equal(await call.size(), size);
    }
    call.stream.end();
    assert.equal(await call.size(), undefined);
  },
  empty_stream: async (channel) => {
    const call = duplex(channel);
    call.stream.end();
    assert.equal(await call.size(), undefined);
  },
  timeout_on_sleeping_server: async (channel) => {
    const call = duplex(channel, { timeoutMs: 1 });
    await call.send({ responseParameters: [{ size: 31415 }], payload: zeros(27182) });
    await assert.rejects(readAll(call), { code: "deadlineExceeded" });
  },
  cancel_after_begin: async (channel) => {
    const controller = new AbortController();
    const stream = channel.rawStream(`${SERVICE}/StreamingInputCall`, {
      signal: controller.signal,
    });
    controller.abort();
    await assert.rejects(stream.messages.next(), { code: "cancelled" });
  },
  cancel_after_first_response: async (channel) => {
    const controller = new AbortController();
    const call = duplex(channel, { signal: controller.signal });
    await call.send({ responseParameters: [{ size: 31415 }], payload: zeros(27182) });
    assert.equal(await call.size(), 31415);
    controller.abort();
    await assert.rejects(call.size(), { code: "cancelled" });
  },
  status_code_and_message: async (channel) => {
    const expected = { code: "unknown", message: "test status message" };
    const responseStatus = { code: 2, message: "test status message" };
    await assert.rejects(
      createClient(TestService, channel).unaryCall({ responseStatus }),
      expected,
    );
    const call = duplex(channel);
    await call.send({ responseStatus });
    call.stream.end();
    await assert.rejects(readAll(call), expected);
  },
  special_status_message: async (channel) => {
    const message = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
    const client = createClient(TestService, channel);
    await assert.rejects(client.unaryCall({ responseStatus: { code: 2, message } }), {
      code: "unknown",
      message,
    });
  },
  custom_metadata: async (channel) => {
    const seen: Metadata[] = [];
    const options = {
      metadata: {
        "x-grpc-test-echo-initial": "test_initial_metadata_value",
        "x-grpc-test-echo-trailing-bin": Uint8Array.of(0xab, 0xab, 0xab),
      },
      onHeaders: (headers: Metadata) => void seen.push(headers),
      onTrailers: (trailers: Metadata) => void seen.push(trailers),
    };
    const check = (): void => {
      const [headers, trailers] = seen.splice(0);
      assert.equal(headers?.text("x-grpc-test-echo-initial"), "test_initial_metadata_value");
      assert.deepEqual(
        trailers?.binary("x-grpc-test-echo-trailing-bin"),
        Uint8Array.of(0xab, 0xab, 0xab),
      );
    };
    await createClient(TestService, channel).unaryCall(
      { responseSize: LARGE_RESPONSE, payload: zeros(LARGE_REQUEST) },
      options,
    );
    check();
    const call = duplex(channel, options);
    await call.send({ responseParameters: [{ size: LARGE_RESPONSE }], payload: zeros(8) });
    call.stream.end();
    await readAll(call);
    check();
  },
  unimplemented_method: async (channel) => {
    await assert.rejects(createClient(TestService, channel).unimplementedCall({}), {
      code: "unimplemented",
    });
  },
  unimplemented_service: async (channel) => {
    await assert.rejects(createClient(UnimplementedService, channel).unimplementedCall({}), {
      code: "unimplemented",
    });
  },
};

/** The cases with compression, which not every server of the suite has. */
export const COMPRESSION_CASES: Readonly<Record<string, InteropCase>> = {
  client_compressed_unary: async (channel) => {
    const request = (value: boolean): Uint8Array =>
      toBinary(
        SimpleRequestSchema,
        create(SimpleRequestSchema, {
          expectCompressed: { value },
          responseSize: LARGE_RESPONSE,
          payload: zeros(LARGE_REQUEST),
        }),
      );
    const path = `${SERVICE}/UnaryCall`;
    // The probe: a plain message that is said to be compressed has to be refused.
    await assert.rejects(channel.rawCall(path, request(true)), { code: "invalidArgument" });
    for (const compress of [true, false]) {
      const reply = await channel.rawCall(path, request(compress), { compress });
      assert.equal(fromBinary(SimpleResponseSchema, reply).payload?.body.length, LARGE_RESPONSE);
    }
  },
  server_compressed_unary: async (channel) => {
    for (const value of [true, false]) {
      const reply = await createClient(TestService, channel).unaryCall({
        responseCompressed: { value },
        responseSize: LARGE_RESPONSE,
        payload: zeros(LARGE_REQUEST),
      });
      assert.equal(reply.payload?.body.length, LARGE_RESPONSE);
    }
  },
  client_compressed_streaming: async (channel) => {
    const stream = channel.rawStream(`${SERVICE}/StreamingInputCall`, { compress: true });
    for (const [size, value] of [[27182, true], [45904, false]] as const) {
      const message = create(StreamingInputCallRequestSchema, {
        expectCompressed: { value },
        payload: zeros(size),
      });
      await stream.send(toBinary(StreamingInputCallRequestSchema, message), value);
    }
    stream.end();
    const { value } = await stream.messages.next();
    assert.ok(value !== undefined);
    const reply = fromBinary(StreamingInputCallResponseSchema, value);
    assert.equal(reply.aggregatedPayloadSize, 73086);
  },
  server_compressed_streaming: async (channel) => {
    const sizes: (number | undefined)[] = [];
    const replies = createClient(TestService, channel).streamingOutputCall({
      responseParameters: [
        { compressed: { value: true }, size: 31415 },
        { compressed: { value: false }, size: 92653 },
      ],
    });
    for await (const { payload } of replies) sizes.push(payload?.body.length);
    assert.deepEqual(sizes, [31415, 92653]);
  },
};

async function readAll(call: Duplex): Promise<void> {
  while (await call.size() !== undefined);
}
