// SPDX-License-Identifier: AGPL-3.0-or-later

import { openMemoryStore } from "../store/memory.ts";
import { testConformance, WRITE_CASES } from "./conformance.ts";
import { openState } from "./core.ts";

async function openInMemory() {
  const state = await openState({ store: openMemoryStore() });
  return { state, [Symbol.asyncDispose]: () => state.close() };
}

testConformance("memory", WRITE_CASES, openInMemory);
