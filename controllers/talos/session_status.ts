// SPDX-License-Identifier: AGPL-3.0-or-later

/** Shows how the sessions with the machines fare. @module */

import { defineCollector, type Observation } from "../../cosi/collector.ts";
import {
  type CallOptions,
  type Controller,
  type Plan,
  type Reader,
  sameId,
} from "../../cosi/controller.ts";
import { ANNOTATION_SESSION_BOOT, LABEL_CLUSTER } from "../../resources/labels.ts";
import { TalosSession } from "../../resources/talos/talos_session.ts";
import { TalosSessionStatus } from "../../resources/talos/talos_session_status.ts";

/** What is known of one session. */
export interface SessionHealth {
  /** The boot of the machine that the session is with, as its WireGuard key. */
  readonly boot: string;
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
    mapped: [sameId(TalosSession)],
    output: TalosSessionStatus,
    observe: (options) => sessions.observe(options),
    gather: async (id, reader: Reader<typeof TalosSession>) => ({
      cluster: (await reader.find(TalosSession, id))?.spec.cluster ?? "",
    }),
    plan: ({ value: { boot, ...spec } }, { cluster }): Plan<typeof TalosSessionStatus> => ({
      kind: "write",
      spec,
      annotations: { [ANNOTATION_SESSION_BOOT]: boot },
      labels: cluster === "" ? {} : { [LABEL_CLUSTER]: cluster },
    }),
  });
}
