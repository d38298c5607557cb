// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the kernel refuses, in words that say what to do.
 *
 * @module
 */

import { CodedError, type ErrorCode } from "../../base/errors.ts";
import type { NetlinkEnd } from "./netlink.ts";
import { EADDRINUSE } from "../linux.ts";

// Numbers of Linux, the same on x86-64 and AArch64.
const EPERM = 1;
const ENOENT = 2;
const EACCES = 13;
const EEXIST = 17;
export const ENODEV = 19;
const EOPNOTSUPP = 95;

/** Steps of making an interface whose refusal means something of its own. */
export type Step = "create" | "family" | "filter" | "address" | "up";

const NO_MODULE = 'this kernel has no WireGuard: load its module ("modprobe wireguard" on the ' +
  'host), or choose another "wireguard.mode"';
const NO_FILTER = "this kernel cannot filter what comes in on an interface, which keeps machines " +
  'apart: load the modules "sch_ingress" and "cls_bpf" on the host, or choose another ' +
  '"wireguard.mode"';
const NO_IPV6 = "IPv6 is off on new interfaces: set net.ipv6.conf.default.disable_ipv6=0";

const MEANINGS: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  [`create ${EOPNOTSUPP}`]: ["unsupported", NO_MODULE],
  [`family ${ENOENT}`]: ["unsupported", NO_MODULE],
  [`filter ${ENOENT}`]: ["unsupported", NO_FILTER],
  [`filter ${EOPNOTSUPP}`]: ["unsupported", NO_FILTER],
  [`address ${EACCES}`]: ["unsupported", NO_IPV6],
  [`address ${EOPNOTSUPP}`]: ["unsupported", "this kernel has no IPv6"],
  [`up ${EADDRINUSE}`]: ["unavailable", "the UDP port is taken"],
  [`${EPERM}`]: ["permissionDenied", "the program needs the capability CAP_NET_ADMIN"],
  [`${EEXIST}`]: ["alreadyExists", "it is there already"],
  [`${ENODEV}`]: ["unavailable", "the interface is gone"],
};

/**
 * The error of a call that was refused.
 *
 * @param what What could not be done.
 */
export function refusal(what: string, { errno, text }: NetlinkEnd, step?: Step): CodedError {
  const [code, meaning] = MEANINGS[`${step} ${errno}`] ?? MEANINGS[`${errno}`] ??
    ["internal", ""] as const;
  const said = [meaning, text === "" ? "" : `"${text}"`, `error ${errno}`].filter(Boolean);
  return new CodedError(code, `Cannot ${what}: ${said.join(", ")}`, { details: { errno } });
}
