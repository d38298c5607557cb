// SPDX-License-Identifier: AGPL-3.0-or-later

/** Shows whether the store behind the state takes writes. @module */

import { defineCollector, type Observation } from "../../cosi/collector.ts";
import type { CallOptions, Controller, Plan } from "../../cosi/controller.ts";
import { BackendStatus } from "../../resources/system/backend_status.ts";

/** How the last write to the store ended. */
export interface BackendHealth {
  /** Kind of the store as the configuration names it. */
  readonly kind: string;
  /** Why it was refused; empty when it was accepted. */
  readonly error: string;
}

/** Tells how writes end, the present state first. */
export interface BackendPort {
  observe(options: CallOptions): AsyncIterable<Observation<BackendHealth>>;
}

/** Creates the controller. */
export function backendStatusController(
  { backend }: { readonly backend: BackendPort },
): Controller {
  return defineCollector({
    name: "system.BackendStatusController",
    output: BackendStatus,
    observe: (options) => backend.observe(options),
    plan: planBackendStatus,
  });
}

/** Decides what to show. */
export function planBackendStatus(
  { value: { kind, error } }: { readonly value: BackendHealth },
): Plan<typeof BackendStatus> {
  return { kind: "write", spec: { kind, healthy: error === "", error } };
}
