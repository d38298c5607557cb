// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { prepareLab } from "./lab_config.ts";

Deno.test("prepareLab() keeps key and ports of a directory that is kept", async () => {
  const state = await Deno.makeTempDir();
  try {
    const first = await prepareLab({ state, logLevel: "error" });
    const key = await Deno.readTextFile(`${state}/state.key`);
    const second = await prepareLab({ state, logLevel: "error" });
    assert.equal(first.isThrowAway, false);
    assert.equal(first.document, second.document);
    assert.equal(await Deno.readTextFile(`${state}/state.key`), key);
    assert.equal(((await Deno.stat(`${state}/state.key`)).mode ?? 0) & 0o077, 0);
    assert.match(first.document, /"kind":"sqlite"/);
  } finally {
    await Deno.remove(state, { recursive: true });
  }
});

Deno.test("prepareLab() binds to loopback unless another address is named", async () => {
  for (const [apiBind, isPublic] of [[undefined, false], ["0.0.0.0:9", true]] as const) {
    const { directory, document, isThrowAway } = await prepareLab({
      state: "memory",
      logLevel: "error",
      ...(apiBind === undefined ? {} : { apiBind }),
    });
    await Deno.remove(directory, { recursive: true });
    assert.equal(isThrowAway, true);
    const { api, siderolink, state } = JSON.parse(document);
    assert.deepEqual(api, { bindAddress: apiBind ?? "127.0.0.1:8080", allowPublicBind: isPublic });
    assert.match(siderolink.bindAddress, /^127\.0\.0\.1:\d+$/);
    assert.deepEqual(state, { kind: "memory" });
  }
});
