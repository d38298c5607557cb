// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The program's own figures for Prometheus, beside those of its calls.
 *
 * @module
 */

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { NodeTokenPort } from "../controllers/link/node_token.ts";
import type { EngineMetrics } from "../cosi/runtime/metrics.ts";
import type { RemovalCause } from "../link/machine_store.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { AdmissionMetrics } from "./join.ts";

/** Creates the registry behind `/metrics`. */
export function createRegistry(): Registry {
  return new Registry();
}

/** Counts what the engine does, by controller. */
export function engineMetrics(registry: Registry): EngineMetrics {
  const registers = [registry];
  const labelNames = ["controller"];
  const counter = (what: string, help: string): Counter =>
    new Counter({ name: `batuta_controller_${what}_total`, help, labelNames, registers });
  const crashes = counter("crashes", "Broken invariants and failed streams of controllers");
  const wakeups = counter("wakeups", "Reconciles begun");
  const reads = counter("reads", "Reads of the state");
  const writes = counter("writes", "Writes to the state");
  const depth = new Histogram({
    name: "batuta_controller_queue_depth",
    help: "Items waiting when a reconcile began",
    labelNames,
    registers,
    buckets: [0, 1, 10, 100, 1_000, 10_000],
  });
  const duration = new Histogram({
    name: "batuta_controller_reconcile_duration_seconds",
    help: "Time of a reconcile, by how it ended",
    labelNames: ["controller", "outcome"],
    registers,
    buckets: [0.0005, 0.002, 0.01, 0.05, 0.25, 1, 5, 30, 300],
  });
  return {
    countCrash: (controller) => crashes.inc({ controller }),
    countWakeup: (controller) => wakeups.inc({ controller }),
    countRead: (controller) => reads.inc({ controller }),
    countWrite: (controller) => writes.inc({ controller }),
    observeQueueDepth: (controller, count) => depth.observe({ controller }, count),
    observeReconcile: (controller, outcome, seconds) =>
      duration.observe({ controller, outcome }, seconds),
  };
}

/** Counts who was admitted; no label carries a token, a UUID or a key. */
export function admissionMetrics(registry: Registry): AdmissionMetrics {
  const registers = [registry];
  const admissions = new Counter({
    name: "batuta_node_token_admissions_total",
    help: "Machines admitted, by the ground",
    labelNames: ["verdict"],
    registers,
  });
  const refusals = new Counter({
    name: "batuta_node_token_refusals_total",
    help: "Machines refused, by the reason",
    labelNames: ["reason"],
    registers,
  });
  const marks = new Counter({
    name: "batuta_node_token_persistence_marks_total",
    help: "Machines that proved to keep their token",
    registers,
  });
  return {
    countAdmission: (verdict) => admissions.inc({ verdict }),
    countRefusal: (reason) => refusals.inc({ reason }),
    countPersistenceMark: () => marks.inc(),
  };
}

/** Counts the node tokens that machines were assigned. */
export function assignmentMetrics(registry: Registry): NodeTokenPort["onTokenAssigned"] {
  const assignments = new Counter({
    name: "batuta_node_token_assignments_total",
    help: "Node tokens assigned, first ones and replacements",
    labelNames: ["kind"],
    registers: [registry],
  });
  return (kind) => assignments.inc({ kind });
}

/** Counts what the machine store removed, by the cause. */
export function machineStoreMetrics(
  registry: Registry,
): (cause: RemovalCause, count: number) => void {
  const removed = new Counter({
    name: "batuta_machine_store_removed_total",
    help: "Events and log lines of machines that were removed, by the cause",
    labelNames: ["cause"],
    registers: [registry],
  });
  return (cause, count) => removed.inc({ cause }, count);
}

/** Shows how many resources there are, by namespace, at the moment of a look. */
export function stateMetrics(registry: Registry, state: StateCore): void {
  new Gauge({
    name: "batuta_resources",
    help: "Resources by namespace",
    labelNames: ["namespace"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [namespace, count] of state.resourceCounts()) this.set({ namespace }, count);
    },
  });
}
