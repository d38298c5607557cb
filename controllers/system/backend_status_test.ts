// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { startHarness } from "../../cosi/testing.ts";
import { BackendStatus } from "../../resources/system/backend_status.ts";
import {
  type BackendHealth,
  backendStatusController,
  planBackendStatus,
} from "./backend_status.ts";

Deno.test("planBackendStatus() shows a refused write with its reason", () => {
  const plan = (error: string) => planBackendStatus({ value: { kind: "sqlite", error } });
  deepStrictEqual(plan(""), {
    kind: "write",
    spec: { kind: "sqlite", healthy: true, error: "" },
  });
  deepStrictEqual(plan("disk is full"), {
    kind: "write",
    spec: { kind: "sqlite", healthy: false, error: "disk is full" },
  });
});

Deno.test("system.BackendStatusController follows the store", async () => {
  const gate = Promise.withResolvers<void>();
  const backend = {
    async *observe({ signal }: { readonly signal: AbortSignal }) {
      const healths: BackendHealth[] = [
        { kind: "kv", error: "" },
        { kind: "kv", error: "disk is full" },
      ];
      for (const value of healths) {
        yield { kind: "observed", id: "backend", value } as const;
        await gate.promise;
      }
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
    },
  };
  await using harness = startHarness(backendStatusController({ backend }));
  await harness.eventually(BackendStatus, "backend", ({ spec }) => strictEqual(spec.healthy, true));
  gate.resolve();
  await harness.eventually(
    BackendStatus,
    "backend",
    ({ spec }) => strictEqual(spec.error, "disk is full"),
  );
});
