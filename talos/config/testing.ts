// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the tests of this folder share: golden data that lives beside the repository.
 *
 * @module
 */

const SHARED = new URL("../../../shared/data/", import.meta.url);

/** Whether the golden data is there; tests that need it are ignored otherwise. */
export const hasGoldenData = exists(SHARED);

/** Added to the name of a test that needs the golden data. */
export const GOLDEN_NOTE = hasGoldenData ? "" : " (skipped: ../shared/data is absent)";

/** Reads a golden file as text. */
export function readGolden(path: string): string {
  return Deno.readTextFileSync(new URL(path, SHARED));
}

/** Whether a golden file is there. */
export function isGolden(path: string): boolean {
  return exists(new URL(path, SHARED));
}

/** Names of the folders under a golden folder, sorted. */
export function goldenFolders(path: string): string[] {
  return [...Deno.readDirSync(new URL(path, SHARED))]
    .filter(({ isDirectory }) => isDirectory).map(({ name }) => name).sort();
}

/** Names of the files in a golden folder, sorted. */
export function goldenFiles(path: string): string[] {
  return [...Deno.readDirSync(new URL(path, SHARED))]
    .filter(({ isFile }) => isFile).map(({ name }) => name).sort();
}

function exists(url: URL): boolean {
  try {
    Deno.statSync(url);
    return true;
  } catch {
    return false;
  }
}
