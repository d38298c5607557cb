// SPDX-License-Identifier: AGPL-3.0-or-later

import { openMemoryStore } from "../store/memory.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { type StateUnderTest, testConformance, WRITE_CASES } from "./conformance.ts";
import { WATCH_CASES } from "./conformance_watch.ts";
import { openState } from "./core.ts";

async function open(store: Store, cleanUp: () => Promise<void>): Promise<StateUnderTest> {
  const state = await openState({ store });
  return {
    state,
    async [Symbol.asyncDispose]() {
      await state.close();
      await cleanUp();
    },
  };
}

const CASES = [...WRITE_CASES, ...WATCH_CASES];

testConformance("memory", CASES, () => open(openMemoryStore(), () => Promise.resolve()));

testConformance("sqlite", CASES, async () => {
  const directory = await Deno.makeTempDir();
  const keys = { current: crypto.getRandomValues(new Uint8Array(32)) };
  const store = await openSqliteStore({ path: `${directory}/state.db`, keys });
  return open(store, () => Deno.remove(directory, { recursive: true }));
});
