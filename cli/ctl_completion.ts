// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Completion of command lines in a shell.
 *
 * The scripts ask `batuta ctl complete WORD…` for every word, so that types and IDs come from the
 * server at hand.
 *
 * @module
 */

import type { State } from "../cosi/state/state.ts";
import { type ConnectOptions, withState } from "./ctl_connect.ts";
import { listDefinitions, matchType } from "./ctl_types.ts";
import { usageError } from "./usage.ts";

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_batuta_ctl() {
  local IFS=$'\\n'
  [ "\${COMP_WORDS[1]}" = ctl ] || return
  COMPREPLY=($(compgen -W "$(batuta ctl complete -- "\${COMP_WORDS[@]:2:COMP_CWORD-1}" 2>/dev/null)" \\
    -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _batuta_ctl batuta
`,
  zsh: `#compdef batuta
_batuta_ctl() {
  [ "$words[2]" = ctl ] || return
  compadd -- \${(f)"$(batuta ctl complete -- "\${(@)words[3,CURRENT]}" 2>/dev/null)"}
}
compdef _batuta_ctl batuta
`,
  fish: `complete -c batuta -n "__fish_seen_subcommand_from ctl" -f -a \\
  "(batuta ctl complete -- (commandline -opc)[3..] (commandline -ct) 2>/dev/null)"
`,
};

/** Prints the script of a shell. */
export function runCompletion(shell: string): void {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined;
  if (script === undefined) throw usageError(`no completion for "${shell}": use bash, zsh or fish`);
  console.log(script.trimEnd());
}

/** Commands whose first word is a type, and whether IDs follow. */
const TYPED: ReadonlyMap<string, boolean> = new Map([
  ["get", true],
  ["list", false],
  ["watch", true],
  ["edit", true],
  ["delete", true],
  ["explain", true],
]);

async function completeType(state: State): Promise<readonly string[]> {
  const definitions = await listDefinitions(state);
  return definitions.map(({ type }) => type.split(".", 1)[0]?.toLowerCase() ?? type);
}

async function completeId(state: State, word: string): Promise<readonly string[]> {
  const match = matchType(word, await listDefinitions(state));
  if (match.kind !== "one") return [];
  const { type, namespace } = match.definition;
  return (await state.list({ namespace, type })).map(({ metadata }) => metadata.id);
}

/** Prints what the last of the words after `ctl` may become, one a line. */
export async function runComplete(
  words: readonly string[],
  commands: readonly string[],
  options: object,
): Promise<void> {
  const [command = "", ...rest] = words.filter((word, index) =>
    !word.startsWith("-") || index === words.length - 1
  );
  if (words.length < 2) return console.log(commands.join("\n"));
  const hasIds = TYPED.get(command);
  if (hasIds === undefined) return;
  const [word = ""] = rest;
  if (rest.length > 1 && !hasIds) return;
  const found = await withState(
    options as ConnectOptions,
    (state) => rest.length > 1 ? completeId(state, word) : completeType(state),
  );
  if (found.length > 0) console.log(found.join("\n"));
}
