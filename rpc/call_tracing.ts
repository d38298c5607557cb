// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * OpenTelemetry spans around calls, named and described as its conventions for RPC have it.
 *
 * They hold which method was called, of whom, and how the call ended; nothing of its messages, its
 * metadata, or the text of its status.
 *
 * @module
 */

import { type AttributeValue, SPAN_KIND, STATUS_ERROR, type Telemetry } from "../base/telemetry.ts";
import { Code } from "./status.ts";

/** A span around one call. */
export interface CallSpan {
  /** Runs work within the span, so that spans that begin in it are its children. */
  run<T>(work: () => T): T;
  end(code: Code): void;
}

/** Begins the span of a call by its service and method. */
export type BeginSpan = (service: string, method: string) => CallSpan;

/** Codes for which the server is to blame; a client blames the call for every code but OK. */
const SERVER_FAULTS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/** What begins spans around the calls that a server gets; `undefined` without telemetry. */
export function serverSpans(telemetry: Telemetry | undefined): BeginSpan | undefined {
  return telemetry && beginner(telemetry, SPAN_KIND.server, (code) => SERVER_FAULTS.has(code), {});
}

/** What begins spans around the calls to one target; `undefined` without telemetry. */
export function clientSpans(
  telemetry: Telemetry | undefined,
  target: { readonly address: string; readonly port: number },
): BeginSpan | undefined {
  const attributes = { "server.address": target.address, "server.port": BigInt(target.port) };
  return telemetry && beginner(telemetry, SPAN_KIND.client, (code) => code !== Code.Ok, attributes);
}

function beginner(
  telemetry: Telemetry,
  kind: number,
  isError: (code: Code) => boolean,
  shared: Readonly<Record<string, AttributeValue>>,
): BeginSpan {
  return (service, method) => {
    const span = telemetry.startSpan(`${service}/${method}`, {
      kind,
      attributes: { "rpc.system": "grpc", "rpc.service": service, "rpc.method": method, ...shared },
    });
    return {
      run: (work) => telemetry.within(span, work),
      end(code) {
        span.setAttribute("rpc.grpc.status_code", BigInt(code));
        if (isError(code)) span.setStatus({ code: STATUS_ERROR });
        span.end();
      },
    };
  };
}
