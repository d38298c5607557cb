// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { draft, KIND } from "../cosi/state/conformance.ts";
import { openState } from "../cosi/state/core.ts";
import { openKvStore } from "../cosi/store/kv.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { watchStore } from "./store_health.ts";

Deno.test("watchStore() tells the present state first and then every change", async () => {
  const failures: Error[] = [];
  const inner = openMemoryStore();
  const { store, backend } = watchStore({
    ...inner,
    commit: (batch) => {
      const failure = failures.shift();
      return failure === undefined ? inner.commit(batch) : Promise.reject(failure);
    },
  }, "memory");
  const stop = new AbortController();
  const seen: string[] = [];
  const batch = { changes: [], revision: 1 };
  for await (const observation of backend.observe({ signal: stop.signal })) {
    if (observation.kind !== "observed") continue;
    seen.push(observation.value.error);
    if (seen.length === 1) {
      failures.push(new Error("disk is full"));
      await rejects(store.commit(batch), /disk is full/);
    } else if (seen.length === 2) {
      await store.commit(batch);
      await store.commit(batch);
    } else {
      stop.abort();
    }
  }
  deepStrictEqual(seen, ["", "disk is full", ""]);
});

Deno.test("a store that is watched takes as much at once as it may, and no more", async () => {
  const directory = await Deno.makeTempDir();
  const { store } = watchStore(await openKvStore({ path: `${directory}/state.kv` }), "kv");
  const state = await openState({ store });
  // More than Deno KV takes in one transaction.
  await Promise.all(Array.from({ length: 1_200 }, (_, index) => state.create(draft(`r${index}`))));
  strictEqual((await state.list(KIND)).length, 1_200);
  await state.close();
  await Deno.remove(directory, { recursive: true });
});
