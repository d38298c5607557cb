// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the API port answers over plain HTTP: figures and probes.
 *
 * @module
 */

import type { Registry } from "prom-client";
import type { HttpReply, HttpRoutes } from "../../rpc/http1.ts";

/** Whether the server can do its work, and what its operator should know. */
export interface Readiness {
  /** What keeps it from working; none when it is ready. */
  readonly problems: readonly string[];
  /** What limits it. */
  readonly notes: readonly string[];
}

/** Options of {@linkcode createHttpRoutes}. */
export interface HttpOptions {
  readonly registry: Registry;
  readonly readiness: () => Readiness;
}

function text(status: number, lines: readonly string[]): HttpReply {
  return { status, contentType: "text/plain; charset=utf-8", body: `${lines.join("\n")}\n` };
}

/** Creates the routes `/metrics`, `/healthz` and `/readyz`. */
export function createHttpRoutes({ registry, readiness }: HttpOptions): HttpRoutes {
  return {
    // Answering at all is the sign of life: a server that cannot go on ends its process.
    "/healthz": () => text(200, ["ok"]),
    "/readyz": () => {
      const { problems, notes } = readiness();
      if (problems.length === 0) return text(200, ["ok", ...notes]);
      return text(503, [...problems, ...notes]);
    },
    "/metrics": async () => ({
      status: 200,
      contentType: registry.contentType,
      body: await registry.metrics(),
    }),
  };
}
