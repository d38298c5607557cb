// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The file with the dictionary of compressed fields: which one it is and where it comes from.
 *
 * @module
 */

import { createHash } from "node:crypto";

/** The file is always this one; a frame names it by its number. */
export const DICTIONARY = {
  id: 1,
  sizeBytes: 65_536,
  sha256: "8238079ff3eb9ff1142cdf5b10d4e08bea4c70103490e4a7beff8f9b92098cc9",
} as const;

/** Where the client's authors publish the file. */
export const DICTIONARY_URL = "https://raw.githubusercontent.com/siderolabs/omni/" +
  "b1ea5df26e4ea80857a444c1c982387863cadbd9/client/pkg/compression/data/config.1.zdict";

/** Whether bytes are the dictionary. */
export function isDictionary(bytes: Uint8Array): boolean {
  return bytes.length === DICTIONARY.sizeBytes &&
    createHash("sha256").update(bytes).digest("hex") === DICTIONARY.sha256;
}
