// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * `batuta ctl apply`: makes the server's resources what the files say.
 *
 * @module
 */

import { join } from "node:path";
import { CodedError, codeOf } from "../base/errors.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
import type { ResourceDraft, State } from "../cosi/state/state.ts";
import { type ConnectOptions, withState } from "./ctl_connect.ts";
import { readDocuments } from "./ctl_document.ts";
import { usageError } from "./usage.ts";

/** Options of `apply`. */
interface ApplyOptions extends ConnectOptions {
  readonly file: readonly string[];
  readonly dryRun?: boolean;
}

async function readInput(): Promise<string> {
  return await new Response(Deno.stdin.readable).text();
}

async function listFiles(path: string): Promise<readonly string[]> {
  if (path === "-") return [path];
  if (!(await Deno.stat(path)).isDirectory) return [path];
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(path)) {
    if (isFile && /\.ya?ml$/.test(name)) names.push(join(path, name));
  }
  return names.toSorted();
}

async function readDrafts(paths: readonly string[]): Promise<readonly ResourceDraft[]> {
  const drafts: ResourceDraft[] = [];
  for (const path of paths) {
    try {
      for (const file of await listFiles(path)) {
        const text = file === "-" ? await readInput() : await Deno.readTextFile(file);
        drafts.push(...readDocuments(text, file === "-" ? "standard input" : file));
      }
    } catch (error) {
      throw usageOf(error, path);
    }
  }
  return drafts;
}

function usageOf(error: unknown, path: string): unknown {
  if (error instanceof Deno.errors.NotFound) return usageError(`there is no file "${path}"`);
  if (codeOf(error) !== "invalidArgument" || !(error instanceof CodedError)) return error;
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return usageError(`${error.message}${cause}`);
}

/** What writing a resource did. */
export type Outcome = "created" | "updated" | "unchanged";

async function findStored(state: State, draft: ResourceDraft): Promise<RawResource | undefined> {
  try {
    return await state.get(draft.metadata);
  } catch (error) {
    if (codeOf(error) === "notFound") return undefined;
    throw error;
  }
}

function sameBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

function samePairs(
  left: Readonly<Record<string, string>>,
  right: Readonly<Record<string, string>>,
): boolean {
  const keys = Object.keys(left);
  return keys.length === Object.keys(right).length && keys.every((key) => left[key] === right[key]);
}

/**
 * Creates a resource, or gives the stored one the draft's spec, labels and annotations.
 *
 * @param expected The version to be replaced; whatever is stored when absent.
 */
export async function applyDraft(
  state: State,
  draft: ResourceDraft,
  { dryRun, expected }: { readonly dryRun: boolean; readonly expected?: RawResource },
): Promise<Outcome> {
  const stored = expected ?? await findStored(state, draft);
  if (stored === undefined) {
    if (!dryRun) await state.create(draft);
    return "created";
  }
  const { labels, annotations } = draft.metadata;
  const { metadata } = stored;
  if (
    sameBytes(stored.protoSpec, draft.protoSpec) && samePairs(metadata.labels, labels) &&
    samePairs(metadata.annotations, annotations)
  ) return "unchanged";
  if (!dryRun) {
    const next = { ...draft, metadata: { ...metadata, labels, annotations } };
    await state.update(next, { owner: "", expectedPhase: "running" });
  }
  return "updated";
}

/** Applies files; all of them are read before the first is applied. */
export async function runApply(parsed: object): Promise<void> {
  const { file, dryRun = false, ...options } = parsed as ApplyOptions;
  const drafts = await readDrafts(file);
  if (drafts.length === 0) throw usageError(`no resource in ${file.join(", ")}`);
  await withState(options, async (state) => {
    for (const draft of drafts) {
      const { type, id } = draft.metadata;
      const outcome = await applyDraft(state, draft, { dryRun });
      console.log(`${type}/${id} ${outcome}${dryRun ? " (dry run)" : ""}`);
    }
  });
}
