// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { compile, PERMISSIONS, probe } from "../../scripts/compile.ts";

const PROGRAM = fileURLToPath(new URL("packaging_program.ts", import.meta.url));

/** The packer makes executables for one platform. */
const elsewhere = Deno.build.target !== "x86_64-unknown-linux-gnu";

Deno.test({
  name: "compile() packs workers, SQLite, sockets, assets and arguments into one file",
  ignore: elsewhere,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const out = `${folder}/program`;
      strictEqual(await compile({ main: PROGRAM, out, way: "pack" }), "packer");
      // Arguments of the user are the program's, whatever they look like to `deno`.
      const args = [folder, "--version", "-A", "--allow-run"];
      deepStrictEqual(JSON.parse(await probe(out, args)), {
        args: args.slice(1),
        asset: "text of an asset",
        datagram: "datagram",
        permissions: {
          net: "granted",
          read: "granted",
          write: "granted",
          env: "granted",
          run: "granted",
          // What was not granted would have to be asked for, and the program never asks.
          ffi: "prompt",
          sys: "prompt",
        },
        rows: 1,
        stream: "stream",
        updateCheck: "1",
      });
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "compile() bakes the permissions in",
  ignore: elsewhere,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const out = `${folder}/program`;
      const permissions = PERMISSIONS.filter((flag) => flag !== "--allow-net");
      await compile({ main: PROGRAM, out, way: "pack", permissions });
      await rejects(probe(out, [folder]), /NotCapable: Requires net access/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
