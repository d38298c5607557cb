// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writes `docs/config.md` from the declared keys of the configuration.
 *
 * @module
 */

import { renderConfigDocs } from "../server/config/config_docs.ts";

if (import.meta.main) {
  const path = new URL("../docs/config.md", import.meta.url);
  await Deno.mkdir(new URL(".", path), { recursive: true });
  await Deno.writeTextFile(path, renderConfigDocs());
}
