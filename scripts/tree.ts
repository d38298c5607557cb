// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The files of the repository, and how a check reports what it finds in them.
 *
 * @module
 */

import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/** Absolute path of the repository, without a final slash. */
export const ROOT = fileURLToPath(new URL("..", import.meta.url)).replace(/\/$/, "");

/** Folders that hold nothing of the repository's own. */
const FOREIGN = new Set([".git", ".deno", "coverage", "dist", "node_modules"]);

/** One violation: where it is, and what to do about it. */
export interface Finding {
  /** Path relative to the repository. */
  readonly file: string;
  /** Line number from 1, where one line can be named. */
  readonly line?: number;
  readonly message: string;
}

/** Lists the files under a folder, relative to it, sorted; foreign folders are left out. */
export function listFiles(root: string = ROOT): string[] {
  const files: string[] = [];
  const walk = (folder: string): void => {
    for (const entry of Deno.readDirSync(folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory) {
        if (!FOREIGN.has(entry.name)) walk(path);
      } else if (entry.isFile) files.push(relative(root, path));
    }
  };
  walk(root);
  return files.sort();
}

/** Reads files into memory by their relative path. */
export function readFiles(
  files: readonly string[],
  root: string = ROOT,
): ReadonlyMap<string, string> {
  return new Map(files.map((file) => [file, Deno.readTextFileSync(join(root, file))]));
}

/** Whether a path is a test or lies in the folder of the tests that cross folders. */
export function isTest(file: string): boolean {
  return file.endsWith("_test.ts") || file.startsWith("tests/");
}

/** Whether a source is written by a generator, which keeps neither our sizes nor our folders. */
export function isGenerated(file: string): boolean {
  return file.startsWith("proto/gen/") || file.endsWith("_pb.ts");
}

/** Renders findings one a line, in the `file:line: message` form that editors open. */
function renderFindings(findings: readonly Finding[]): string {
  return findings
    .map(({ file, line, message }) => `${file}${line === undefined ? "" : `:${line}`}: ${message}`)
    .join("\n");
}

/** Prints the outcome of a check and returns its exit code. */
export function reportFindings(check: string, findings: readonly Finding[]): number {
  if (findings.length === 0) {
    console.log(`${check}: ok`);
    return 0;
  }
  console.error(renderFindings(findings));
  console.error(`${check}: ${findings.length} violation${findings.length === 1 ? "" : "s"}`);
  return 1;
}
