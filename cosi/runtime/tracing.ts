// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * OpenTelemetry spans around reconciles and the calls that leave the engine.
 *
 * @module
 */

import { formatError } from "../../base/errors.ts";
import { STATUS_ERROR, type Telemetry } from "../../base/telemetry.ts";

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

/** Makes spans with OpenTelemetry; none without it. */
export function createTracer(telemetry: Telemetry | undefined): Tracer {
  if (telemetry === undefined) return noTracer;
  return {
    async span(name, attributes, work) {
      const span = telemetry.startSpan(name, { attributes });
      try {
        return await telemetry.within(span, work);
      } catch (error) {
        span.setStatus({ code: STATUS_ERROR, message: formatError(error) });
        throw error;
      } finally {
        span.end();
      }
    },
  };
}
