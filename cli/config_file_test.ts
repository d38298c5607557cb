// SPDX-License-Identifier: AGPL-3.0-or-later

import type { Command } from "commander";
import { rejects } from "node:assert/strict";
import { dictionaryCommand } from "./dictionary.ts";
import { keyCommand } from "./key.ts";
import { serveCommand } from "./serve.ts";

const COMMANDS: readonly (readonly [string, () => Command, readonly string[]])[] = [
  ["serve", serveCommand, []],
  ["key rotate", keyCommand, ["rotate"]],
  ["dictionary", dictionaryCommand, ["--fetch"]],
];

for (const [name, create, args] of COMMANDS) {
  for (const text of [undefined, "colour: green"]) {
    const what = text === undefined ? "is missing" : "breaks a rule";
    Deno.test(`batuta ${name} ends with code 2 for a configuration that ${what}`, async () => {
      const folder = await Deno.makeTempDir();
      const file = `${folder}/batuta.yaml`;
      try {
        if (text !== undefined) await Deno.writeTextFile(file, text);
        await rejects(create().parseAsync([...args, "--config", file], { from: "user" }), {
          exitCode: 2,
          message: text === undefined ? /Cannot read configuration/ : /colour is not a known key/,
        });
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    });
  }
}
