// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Generates `interop_pb.ts` from `interop.proto`: `deno run -A tests/compat/interop/generate.ts`.
 *
 * @module
 */

const FOLDER = new URL(".", import.meta.url).pathname;
const OUTPUT = `${FOLDER}interop_pb.ts`;
const BUF = "npm:@bufbuild/buf@1.75.0/buf";
const PLUGIN = "npm:@bufbuild/protoc-gen-es@2.17.0";

async function deno(args: string[]): Promise<void> {
  const { code } = await new Deno.Command(Deno.execPath(), { args, cwd: FOLDER }).spawn().status;
  if (code !== 0) Deno.exit(code);
}

if (import.meta.main) {
  const template = JSON.stringify({
    version: "v2",
    plugins: [{
      local: [Deno.execPath(), "run", "-A", "--no-lock", "--no-config", PLUGIN],
      out: ".",
      opt: ["target=ts", "import_extension=ts"],
    }],
  });
  const run = ["run", "-A", "--no-lock", "--no-config", BUF];
  await deno([...run, "generate", ".", "--template", template]);
  // An empty message becomes an empty object type, which the linter would not have.
  const ignore = "deno-lint-ignore-file ban-types -- an empty message is an empty object type";
  const source = await Deno.readTextFile(OUTPUT);
  await Deno.writeTextFile(OUTPUT, source.replace("\n", `\n// ${ignore}\n`));
  await deno(["fmt", "--quiet", OUTPUT]);
}
