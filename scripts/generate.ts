// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Generates `proto/gen` from the `.proto` definitions, or checks that it is up to date.
 *
 * `--check` generates into a temporary folder and fails when anything differs, so that a hand edit
 * of generated code and a forgotten generation are both found.
 *
 * @module
 */

import { dirname, join, relative } from "node:path";

const ROOT = new URL("..", import.meta.url).pathname;
const OUT = join(ROOT, "proto/gen");
const BUF = "npm:@bufbuild/buf@1.75.0/buf";
const PLUGIN = "npm:@bufbuild/protoc-gen-es@2.17.0";

async function generate(out: string): Promise<void> {
  const template = JSON.stringify({
    version: "v2",
    plugins: [{
      local: [Deno.execPath(), "run", "-A", "--no-lock", "--no-config", PLUGIN],
      out,
      opt: ["target=ts", "import_extension=ts"],
    }],
  });
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-lock", "--no-config", BUF, "generate", "--template", template],
    cwd: ROOT,
    stderr: "piped",
  }).output();
  if (code !== 0) throw new Error(`Cannot generate code: ${new TextDecoder().decode(stderr)}`);
}

async function readTree(root: string): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  const walk = async (dir: string): Promise<void> => {
    for await (const entry of Deno.readDir(dir)) {
      const path = join(dir, entry.name);
      if (entry.isDirectory) await walk(path);
      else files.set(relative(root, path), await Deno.readTextFile(path));
    }
  };
  await walk(root);
  return files;
}

/** Returns the files that differ between two generated trees, sorted. */
export function differingFiles(
  committed: ReadonlyMap<string, string>,
  generated: ReadonlyMap<string, string>,
): string[] {
  const names = new Set([...committed.keys(), ...generated.keys()]);
  return [...names].filter((name) => committed.get(name) !== generated.get(name)).sort();
}

/** Makes the committed tree equal to the generated one, touching only what differs. */
async function update(
  committed: ReadonlyMap<string, string>,
  generated: ReadonlyMap<string, string>,
): Promise<void> {
  for (const name of differingFiles(committed, generated)) {
    const path = join(OUT, name);
    const text = generated.get(name);
    if (text === undefined) {
      await Deno.remove(path);
    } else {
      await Deno.mkdir(dirname(path), { recursive: true });
      await Deno.writeTextFile(path, text);
    }
  }
}

if (import.meta.main) {
  const temporary = await Deno.makeTempDir();
  try {
    await generate(temporary);
    const [committed, generated] = [await readTree(OUT), await readTree(temporary)];
    if (!Deno.args.includes("--check")) {
      await update(committed, generated);
    } else {
      const stale = differingFiles(committed, generated);
      if (stale.length > 0) {
        console.error(`proto/gen is stale, run "deno task generate": ${stale.join(", ")}`);
        Deno.exitCode = 1;
      }
    }
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}
