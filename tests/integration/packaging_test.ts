// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, rejects, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { compile, PERMISSIONS, probe } from "../../scripts/compile.ts";

const PROGRAM = fileURLToPath(new URL("packaging_program.ts", import.meta.url));

/** Far more than a machine needs to install and boot in the lab, in seconds. */
const LAB_DEADLINE_S = 300;

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
          ffi: "granted",
          // What was not granted would have to be asked for, and the program never asks.
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

Deno.test({
  name: "the packed lab brings a cluster up with nothing in its environment",
  ignore: elsewhere,
  async fn() {
    const folder = await Deno.makeTempDir();
    try {
      const out = `${folder}/batuta`;
      await compile({
        main: fileURLToPath(new URL("../../main.ts", import.meta.url)),
        out,
        way: "pack",
      });
      const command = new Deno.Command(out, {
        args: [
          ...["lab", "--once", "--machines", "1", "--api-bind", "127.0.0.1:0"],
          ...["--timeout", String(LAB_DEADLINE_S)],
        ],
        clearEnv: true,
        cwd: folder,
        stdin: "null",
        signal: AbortSignal.timeout(1000 * LAB_DEADLINE_S + 10_000),
      });
      const { code, stdout, stderr } = await command.output();
      const text = new TextDecoder().decode(stdout);
      strictEqual(code, 0, `${text}\n${new TextDecoder().decode(stderr)}`);
      match(text, /^cluster "lab" is running$/m);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
