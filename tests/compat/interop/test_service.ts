// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server side of the gRPC interoperability suite, on the project's own server.
 *
 * @module
 */

import type { MessageInitShape } from "@bufbuild/protobuf";
import { systemClock } from "../../../base/clock.ts";
import { CodedError } from "../../../base/errors.ts";
import { type CallContext, implementService, type Service } from "../../../rpc/service.ts";
import { errorCodeOfStatus } from "../../../rpc/status.ts";
import {
  type BoolValue,
  type EchoStatus,
  type StreamingOutputCallRequest,
  type StreamingOutputCallResponseSchema,
  TestService,
} from "./interop_pb.ts";

type Output = MessageInitShape<typeof StreamingOutputCallResponseSchema>;

/** The service as the suite describes it. */
export function testService(): Service {
  return implementService(TestService, {
    emptyCall: (_, context) => {
      echoMetadata(context);
      return {};
    },
    unaryCall: (request, context) => {
      echoMetadata(context);
      expectCompressed(request.expectCompressed, context);
      throwStatus(request.responseStatus);
      context.compressReplies(request.responseCompressed?.value ?? false);
      return { payload: { body: new Uint8Array(request.responseSize) } };
    },
    streamingOutputCall: (request, context) => {
      echoMetadata(context);
      return outputs(request, context);
    },
    streamingInputCall: async (requests, context) => {
      echoMetadata(context);
      let aggregatedPayloadSize = 0;
      for await (const request of requests) {
        expectCompressed(request.expectCompressed, context);
        aggregatedPayloadSize += request.payload?.body.length ?? 0;
      }
      return { aggregatedPayloadSize };
    },
    fullDuplexCall: async function* (requests, context) {
      echoMetadata(context);
      for await (const request of requests) yield* outputs(request, context);
    },
    halfDuplexCall: async function* (requests, context) {
      const all: StreamingOutputCallRequest[] = [];
      for await (const request of requests) all.push(request);
      for (const request of all) yield* outputs(request, context);
    },
  });
}

async function* outputs(
  request: StreamingOutputCallRequest,
  context: CallContext,
): AsyncIterable<Output> {
  throwStatus(request.responseStatus);
  // The encoding is announced before the first message, which may itself be plain.
  if (request.responseParameters.some(({ compressed }) => compressed?.value)) {
    context.compressReplies(true);
  }
  for (const { size, intervalUs, compressed } of request.responseParameters) {
    if (intervalUs > 0) await systemClock.sleep(intervalUs / 1000, context.signal);
    context.compressReplies(compressed?.value ?? false);
    yield { payload: { body: new Uint8Array(size) } };
  }
}

function echoMetadata(context: CallContext): void {
  const initial = context.metadata.get("x-grpc-test-echo-initial");
  if (initial !== undefined) context.setHeader("x-grpc-test-echo-initial", initial);
  const trailing = context.metadata.get("x-grpc-test-echo-trailing-bin");
  if (trailing !== undefined) context.setTrailer("x-grpc-test-echo-trailing-bin", trailing);
}

function throwStatus(status: EchoStatus | undefined): void {
  if (status === undefined || status.code === 0) return;
  throw new CodedError(errorCodeOfStatus(status.code), status.message);
}

function expectCompressed(expected: BoolValue | undefined, context: CallContext): void {
  if (expected === undefined || expected.value === context.wasCompressed) return;
  throw new CodedError("invalidArgument", `Compressed: ${context.wasCompressed}`);
}
