// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Keeps a second process away from a file that knows no lock itself.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";

/**
 * Locks a file that exists, by another one beside it, until what is returned is closed or the process
 * ends. The lock belongs to the system, so that none is left behind; its file is, because taking it
 * away would let two processes lock two files of one name.
 *
 * @param what How errors call the file, for example `KV store "/var/lib/state.kv"`.
 * @throws CodedError `unavailable` when another process has locked it, `failedPrecondition` when it
 *   cannot be locked.
 */
export async function lockFile(path: string, what: string): Promise<Deno.FsFile> {
  let lock: Deno.FsFile | undefined;
  try {
    // Another name of the same file must not lead around the lock.
    const beside = `${await Deno.realPath(path)}.lock`;
    lock = await Deno.open(beside, { write: true, create: true, mode: 0o600 });
    if (await lock.tryLock(true)) return lock;
  } catch (cause) {
    lock?.close();
    throw new CodedError(
      "failedPrecondition",
      `Cannot open ${what}: no lock can be put beside it; give the server write access to its ` +
        "directory, on a file system with locks",
      { cause },
    );
  }
  lock.close();
  throw new CodedError(
    "unavailable",
    `Cannot open ${what}: another process has it open; only one server may use it`,
  );
}
