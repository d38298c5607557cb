// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the engine counts; who shows it is wired in `server/`.
 *
 * @module
 */

/** Receives the engine's figures; the controller's name is the only label. */
export interface EngineMetrics {
  /** `batuta_controller_crashes_total`: broken invariants and failed attempts of a collector. */
  countCrash(controller: string): void;
  /** `batuta_controller_wakeups_total`: reconciles begun. */
  countWakeup(controller: string): void;
  /** `batuta_controller_reads_total`: reads of the state. */
  countRead(controller: string): void;
  /** `batuta_controller_writes_total`: writes to the state that succeeded. */
  countWrite(controller: string): void;
  /** `batuta_controller_queue_depth`: keys waiting when a reconcile began. */
  observeQueueDepth(controller: string, depth: number): void;
  /** `batuta_controller_reconcile_duration_seconds`, by outcome. */
  observeReconcile(controller: string, outcome: ReconcileOutcome, seconds: number): void;
}

/** How a reconcile ended. */
export type ReconcileOutcome = "done" | "waiting" | "failed";

/** Counts nothing. */
export const noMetrics: EngineMetrics = {
  countCrash: () => {},
  countWakeup: () => {},
  countRead: () => {},
  countWrite: () => {},
  observeQueueDepth: () => {},
  observeReconcile: () => {},
};
