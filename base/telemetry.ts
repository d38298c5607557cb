// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Spans by the runtime's own OpenTelemetry, which is off unless the environment asks for it.
 *
 * @module
 */

/** The value of an attribute; the runtime takes a `number` for a floating-point one. */
export type AttributeValue = string | bigint;

/** The part of a span of OpenTelemetry that is used here. */
export interface Span {
  setAttribute(name: string, value: AttributeValue): void;
  setStatus(status: { readonly code: number; readonly message?: string }): void;
  end(): void;
}

/** `SpanStatusCode.ERROR` of OpenTelemetry. */
export const STATUS_ERROR = 2;

/** `SpanKind` of OpenTelemetry. */
export const SPAN_KIND = { internal: 0, server: 1, client: 2 } as const;

/** Options of a new span. */
export interface SpanOptions {
  readonly kind?: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

/** The part of OpenTelemetry that is used here. A new span is the child of the one it begins in. */
export interface Telemetry {
  startSpan(name: string, options: SpanOptions): Span;
  /** Runs work, and what it waits for, in a span. */
  within<T>(span: Span, work: () => T): T;
}

/** Under this key OpenTelemetry keeps the present span in its context. */
const SPAN_KEY = Symbol.for("OpenTelemetry Context Key SPAN");

/** The context of OpenTelemetry. */
interface TraceContext {
  setValue(key: symbol, value: unknown): TraceContext;
}

/** The runtime has these without types. */
interface RuntimeTelemetry {
  readonly tracerProvider: { getTracer(name: string): Pick<Telemetry, "startSpan"> };
  readonly contextManager: {
    active(): TraceContext;
    with<T>(context: TraceContext, work: () => T): T;
  };
}

/**
 * The telemetry of the runtime. It exports by the `OTEL_*` variables of its environment, and is there
 * only where `OTEL_DENO=true`.
 */
export function runtimeTelemetry(
  env: { get(name: string): string | undefined } = Deno.env,
): Telemetry | undefined {
  if (env.get("OTEL_DENO") !== "true") return undefined;
  const { tracerProvider, contextManager }: RuntimeTelemetry = Deno.telemetry;
  const tracer = tracerProvider.getTracer("batuta");
  return {
    startSpan: (name, options) => tracer.startSpan(name, options),
    within: (span, work) =>
      contextManager.with(contextManager.active().setValue(SPAN_KEY, span), work),
  };
}
