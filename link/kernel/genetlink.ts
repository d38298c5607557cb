// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Generic netlink: families of messages that have a name and get their number from the kernel.
 *
 * @module
 */

import {
  ACKNOWLEDGED,
  attribute,
  attributesAfter,
  concat,
  malformed,
  type NetlinkRequest,
  viewOf,
  zeroTerminated,
} from "./netlink.ts";

/** `struct genlmsghdr`: command, version, two bytes of nothing. */
export const GENERIC_HEADER_SIZE = 4;

const GENL_ID_CTRL = 16;
const CTRL_CMD_GETFAMILY = 3;
const CTRL_ATTR_FAMILY_ID = 1;
const CTRL_ATTR_FAMILY_NAME = 2;
const VERSION = 1;

/** The header of a command. */
export function genericHeader(command: number): Uint8Array {
  return Uint8Array.of(command, VERSION, 0, 0);
}

/** Asks for the number of a family. */
export function getFamily(name: string): NetlinkRequest {
  return {
    type: GENL_ID_CTRL,
    flags: ACKNOWLEDGED,
    payload: concat(
      genericHeader(CTRL_CMD_GETFAMILY),
      attribute(CTRL_ATTR_FAMILY_NAME, zeroTerminated(name)),
    ),
  };
}

/**
 * Reads the answer to {@linkcode getFamily}.
 *
 * @throws CodedError `internal` when it is malformed.
 */
export function readFamily(payload: Uint8Array): number {
  const number = attributesAfter(GENERIC_HEADER_SIZE, payload)
    .find(({ type }) => type === CTRL_ATTR_FAMILY_ID)?.payload;
  if (number === undefined || number.length < 2) throw malformed("family", 0);
  return viewOf(number).getUint16(0, true);
}
