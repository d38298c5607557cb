// SPDX-License-Identifier: AGPL-3.0-or-later

/** Opens the store that the configuration names. @module */

import { CodedError } from "../base/errors.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import { openSqliteStore } from "../cosi/store/sqlite.ts";
import type { Store } from "../cosi/store/store.ts";
import type { Config } from "./config/parse_config.ts";
import { readStateKeys } from "./config/state_key.ts";

/**
 * Opens the store.
 *
 * @throws CodedError naming what is wrong with the key or the store and what to do.
 */
export async function openStore({ state }: Config): Promise<Store> {
  switch (state.kind) {
    case "memory":
      return openMemoryStore();
    case "sqlite": {
      const { current, previous } = readStateKeys(state.key);
      const keys = current &&
        { current: current.reveal(), previous: previous.map((key) => key.reveal()) };
      return await openSqliteStore({ path: state.sqlite.path, keys });
    }
    default:
      throw new CodedError(
        "unsupported",
        `Cannot open state: kind "${state.kind}" is not built in`,
      );
  }
}
