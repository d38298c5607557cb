// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { DEFAULT_SEED } from "./fleet.ts";
import { startFleetThread } from "./fleet_thread.ts";
import { hardwareOf } from "./hardware.ts";
import { startTestServer } from "./testing.ts";

Deno.test("startFleetThread() joins many machines from a worker", async () => {
  const server = await startTestServer();
  const fleet = await startFleetThread({
    count: 20,
    kernelArgs: server.kernelArgs,
    bindAddress: "127.0.0.1",
  });
  try {
    await fleet.until(
      (views) =>
        views.length === 20 &&
        views.every(({ stage, address }) => stage === "maintenance" && address !== ""),
      AbortSignal.timeout(20_000),
    );
    assert.equal(fleet.views()[0]?.uuid, hardwareOf(DEFAULT_SEED, 1).uuid);
    assert.equal(new Set(fleet.views().map(({ uuid }) => uuid)).size, 20);
    const calls = await fleet.calls(hardwareOf(DEFAULT_SEED, 1).uuid);
    assert.equal(calls.get("Provision"), 1);
    await fleet.act(hardwareOf(DEFAULT_SEED, 2).uuid, "powerOff");
    await fleet.until((views) => views[1]?.isOn === false, AbortSignal.timeout(5_000));
  } finally {
    await fleet.close();
    await server.close();
  }
});
