// SPDX-License-Identifier: AGPL-3.0-or-later

/** `batuta dictionary`: brings the dictionary of compressed fields. @module */

import { Command } from "commander";
import { CodedError } from "../base/errors.ts";
import { readConfig } from "./config_file.ts";
import { usageError } from "./usage.ts";

/** Options of the command. */
interface DictionaryOptions {
  readonly fetch?: true;
  readonly file?: string;
  readonly out?: string;
  readonly config?: string;
}

/** The file is 64 KiB; a server that sends more sends something else. */
const MAX_BYTES = 1 << 20;

/** Puts the dictionary where the server looks for it. */
export function dictionaryCommand(): Command {
  return new Command("dictionary")
    .description(
      "bring the dictionary of compressed fields",
    )
    .option("--fetch", "download it from its public source")
    .option("--file <file>", "take a copy that was brought by hand")
    .option("--config <file>", "configuration document that says where it belongs")
    .option("--out <file>", "where it belongs, instead of a configuration document")
    .action(bring);
}

async function bring(options: DictionaryOptions): Promise<void> {
  if ((options.fetch === undefined) === (options.file === undefined)) {
    throw usageError("either --fetch or --file must be given");
  }
  const { DICTIONARY, isDictionary } = await import("../server/config/dictionary_file.ts");
  const out = await findPlace(options);
  const bytes = options.file === undefined ? await download() : await Deno.readFile(options.file);
  if (!isDictionary(bytes)) {
    throw new CodedError(
      "invalidArgument",
      `Cannot use ${options.file ?? "what was downloaded"}: it is not the dictionary with the ` +
        `SHA-256 ${DICTIONARY.sha256}`,
    );
  }
  // Beside its place first, so that no server ever reads half of it.
  const temporary = `${out}.new`;
  await Deno.writeFile(temporary, bytes);
  await Deno.rename(temporary, out);
  console.log(`the dictionary is in ${out}; a running server reads it at its next start`);
}

async function findPlace({ out, config }: DictionaryOptions): Promise<string> {
  if (out !== undefined) return out;
  if (config === undefined) return "/var/lib/batuta/config.1.zdict";
  return (await readConfig(config)).dictionaryPath;
}

async function download(): Promise<Uint8Array> {
  const { DICTIONARY_URL } = await import("../server/config/dictionary_file.ts");
  try {
    const response = await fetch(DICTIONARY_URL, { signal: AbortSignal.timeout(60_000) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const size = Number(response.headers.get("content-length") ?? 0);
    if (size > MAX_BYTES) throw new Error(`${size} bytes`);
    return await response.bytes();
  } catch (cause) {
    throw new CodedError(
      "unavailable",
      `Cannot download ${DICTIONARY_URL}; bring the file by hand and use --file`,
      { cause },
    );
  }
}
