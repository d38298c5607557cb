// SPDX-License-Identifier: AGPL-3.0-or-later

/** The version of the program. @module */

/** Follows semantic versioning; also what clients are told as the server's version. */
export const VERSION = "0.1.0";
