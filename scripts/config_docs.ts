// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Writes `docs/config.md` from the declared keys of the configuration, or checks with `--check`
 * that it is what they give.
 *
 * @module
 */

import { renderConfigDocs } from "../server/config/config_docs.ts";

if (import.meta.main) {
  const path = new URL("../docs/config.md", import.meta.url);
  const text = renderConfigDocs();
  if (!Deno.args.includes("--check")) {
    await Deno.mkdir(new URL(".", path), { recursive: true });
    await Deno.writeTextFile(path, text);
  } else if (await Deno.readTextFile(path).catch(() => "") !== text) {
    console.error('docs/config.md is stale, run "deno task generate:config-docs"');
    Deno.exit(1);
  }
}
