// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What all gRPC ports have in common: figures of their calls, a count of broken handlers, a line for
 * each call at debug level, and a span where spans are wanted.
 *
 * @module
 */

import { Counter, Histogram, type Registry } from "prom-client";
import type { Logger } from "../../base/log.ts";
import type { Telemetry } from "../../base/telemetry.ts";
import type { CalledMethod, CallObserver } from "../../rpc/call_observer.ts";
import { serverSpans } from "../../rpc/call_tracing.ts";
import { statusName } from "../../rpc/status.ts";

/** Labels that name a method, as common dashboards expect them. */
const METHOD_LABELS = ["grpc_type", "grpc_service", "grpc_method"] as const;

/** The methods of a server are few and fixed, so that their labels are made once. */
function createLabels(): (method: CalledMethod) => Record<typeof METHOD_LABELS[number], string> {
  const known = new WeakMap<CalledMethod, Record<typeof METHOD_LABELS[number], string>>();
  return (method) => {
    const labels = known.get(method);
    if (labels !== undefined) return labels;
    const made = {
      grpc_type: method.type,
      grpc_service: method.service,
      grpc_method: method.name,
    };
    known.set(method, made);
    return made;
  };
}

/** Creates the observer that every gRPC port of the server shares. */
export function createCallObserver(
  registry: Registry,
  log: Logger,
  telemetry?: Telemetry,
): CallObserver {
  const registers = [registry];
  const labelsOf = createLabels();
  const started = new Counter({
    name: "grpc_server_started_total",
    help: "Calls begun",
    labelNames: METHOD_LABELS,
    registers,
  });
  const handled = new Counter({
    name: "grpc_server_handled_total",
    help: "Calls ended, by status",
    labelNames: [...METHOD_LABELS, "grpc_code"],
    registers,
  });
  const received = new Counter({
    name: "grpc_server_msg_received_total",
    help: "Messages received",
    labelNames: METHOD_LABELS,
    registers,
  });
  const sent = new Counter({
    name: "grpc_server_msg_sent_total",
    help: "Messages sent",
    labelNames: METHOD_LABELS,
    registers,
  });
  const handling = new Histogram({
    name: "grpc_server_handling_seconds",
    help: "Time from the beginning of a call to its end",
    labelNames: METHOD_LABELS,
    buckets: [0.0005, 0.002, 0.01, 0.05, 0.25, 1, 5, 30, 300],
    registers,
  });
  const panics = new Counter({
    name: "batuta_grpc_panics_total",
    help: "Handlers that broke; their calls got Internal and the process went on",
    registers,
  });
  return {
    callStarted: (method) => started.inc(labelsOf(method)),
    callEnded(method, code, durationMs) {
      const labels = labelsOf(method);
      handled.inc({ ...labels, grpc_code: statusName(code) });
      handling.observe(labels, durationMs / 1000);
      log.debug("rpc call ended", {
        id: `${method.service}/${method.name}`,
        reason: statusName(code),
        durationMs: Math.round(durationMs * 1000) / 1000,
      });
    },
    messageReceived: (method) => received.inc(labelsOf(method)),
    messageSent: (method) => sent.inc(labelsOf(method)),
    panicked: () => panics.inc(),
    beginSpan: serverSpans(telemetry),
  };
}
