// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * OpenTelemetry spans around reconciles and the calls that leave the engine.
 *
 * @module
 */

import { formatError } from "../../base/errors.ts";

/** Puts spans around work. */
export interface Tracer {
  /** Runs `work` in a span; a rejection is recorded and passed on. */
  span<T>(
    name: string,
    attributes: Readonly<Record<string, string>>,
    work: () => Promise<T>,
  ): Promise<T>;
}

/** Makes no spans. */
export const noTracer: Tracer = { span: (_name, _attributes, work) => work() };

/** The part of a span of OpenTelemetry that is used here. */
interface Span {
  setStatus(status: { readonly code: number; readonly message?: string }): void;
  end(): void;
}

/** The part of OpenTelemetry's tracer that is used here. */
export interface SpanSource {
  startActiveSpan<R>(
    name: string,
    options: { readonly attributes: Readonly<Record<string, string>> },
    work: (span: Span) => R,
  ): R;
}

/** `SpanStatusCode.ERROR` of OpenTelemetry. */
const STATUS_ERROR = 2;

/** Makes spans with a tracer of OpenTelemetry. */
export function createTracer(source: SpanSource): Tracer {
  return {
    span: (name, attributes, work) =>
      source.startActiveSpan(name, { attributes }, async (span) => {
        try {
          return await work();
        } catch (error) {
          span.setStatus({ code: STATUS_ERROR, message: formatError(error) });
          throw error;
        } finally {
          span.end();
        }
      }),
  };
}

/**
 * The tracer of the Deno runtime. It exports by the `OTEL_*` variables of its environment, and is on
 * only where `OTEL_DENO=true`; otherwise nothing is traced.
 */
export function denoTracer(env: { get(name: string): string | undefined } = Deno.env): Tracer {
  if (env.get("OTEL_DENO") !== "true") return noTracer;
  return createTracer(Deno.telemetry.tracerProvider.getTracer("batuta") as SpanSource);
}
