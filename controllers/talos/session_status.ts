// SPDX-License-Identifier: AGPL-3.0-or-later

/** Shows how the sessions with the machines fare. @module */

import { defineCollector, type Observation } from "../../cosi/collector.ts";
import type { CallOptions, Controller, Plan } from "../../cosi/controller.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";

/** What is known of one session. */
export interface SessionHealth {
  readonly connected: boolean;
  /** Why the last attempt ended; empty while connected. */
  readonly lastError: string;
  /** The machine refused the credentials. */
  readonly credentialsRefused: boolean;
}

/** Tells of all sessions as they change. */
export interface SessionHealthPort {
  observe(options: CallOptions): AsyncIterable<Observation<SessionHealth>>;
}

/** Creates the controller. */
export function talosSessionStatusController(
  { sessions }: { readonly sessions: SessionHealthPort },
): Controller {
  return defineCollector({
    name: "talos.SessionStatusController",
    output: TalosSessionStatus,
    observe: (options) => sessions.observe(options),
    plan: ({ value }): Plan<typeof TalosSessionStatus> => ({ kind: "write", spec: value }),
  });
}
