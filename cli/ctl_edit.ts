// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl edit`: a resource in the user's editor.
 *
 * @module
 */

import { CodedError, formatError } from "../base/errors.ts";
import { applyDraft } from "./ctl_apply.ts";
import { type ConnectOptions, withState } from "./ctl_connect.ts";
import { readDocuments } from "./ctl_document.ts";
import { resolveType } from "./ctl_types.ts";
import { usageError } from "./usage.ts";
import { yamlDocument } from "./output.ts";

async function runEditor(path: string): Promise<void> {
  const editor = Deno.env.get("VISUAL") || Deno.env.get("EDITOR") || "vi";
  const [program = editor, ...args] = editor.split(/\s+/);
  let success: boolean;
  try {
    const child = new Deno.Command(program, {
      args: [...args, path],
      stdin: "inherit",
      stdout: "inherit",
      stderr: "inherit",
    }).spawn();
    success = (await child.status).success;
  } catch (cause) {
    throw new CodedError(
      "failedPrecondition",
      `Cannot start the editor "${editor}"; set $EDITOR, or use "ctl get -o yaml" and "ctl apply"`,
      { cause },
    );
  }
  if (!success) throw new CodedError("cancelled", `The editor "${editor}" ended with a failure`);
}

/** Edits one resource; a text that cannot be read stays in a file that the error names. */
export async function runEdit(word: string, id: string, parsed: object): Promise<void> {
  const options = parsed as ConnectOptions & { readonly namespace?: string };
  await withState(options, async (state) => {
    const { type, namespace } = await resolveType(state, word);
    const stored = await state.get({ namespace: options.namespace ?? namespace, type, id });
    const before = yamlDocument(stored);
    const path = await Deno.makeTempFile({ prefix: "batuta-edit-", suffix: ".yaml" });
    await Deno.writeTextFile(path, before);
    try {
      await runEditor(path);
    } catch (error) {
      // Ending the editor with a failure is how one gives up an edit.
      await Deno.remove(path);
      throw error;
    }
    const after = await Deno.readTextFile(path);
    try {
      const [draft, ...more] = readDocuments(after, path);
      if (draft === undefined || more.length > 0) {
        throw new CodedError("invalidArgument", "it must hold exactly one resource");
      }
      const { metadata } = draft;
      if (
        metadata.type !== type || metadata.id !== id ||
        metadata.namespace !== stored.metadata.namespace
      ) {
        throw new CodedError("invalidArgument", "namespace, type and ID cannot be edited");
      }
      const outcome = await applyDraft(state, draft, { dryRun: false, expected: stored });
      console.log(`${type}/${id} ${outcome}`);
    } catch (error) {
      throw usageError(
        `the edited text was not applied and stays in ${path}: ${formatError(error)}`,
      );
    }
    await Deno.remove(path);
  });
}
