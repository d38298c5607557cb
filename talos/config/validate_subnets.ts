// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of the pod and service networks of a cluster.
 *
 * @module
 */

import { addError, type Checks, pickNumber, pickTexts } from "./checks.ts";
import type { Fields } from "./decode.ts";

/** A network holds at least this many bits for hosts. */
const MIN_HOST_BITS = 4;

/** A service network holds at most this many bits for services: kube-apiserver keeps a bitmap. */
const MAX_SERVICE_BITS = 20;

/** A pod network holds at most 2 to this power networks of nodes. */
const MAX_NODE_BITS = 16;

/** Prefix length of a node's part of the pod network, where nothing else is said. */
const NODE_MASKS = { 4: 24, 6: 64 } as const;

interface Subnet {
  readonly text: string;
  readonly family: 4 | 6;
  readonly bits: number;
  readonly length: number;
  readonly isMasked: boolean;
}

/** Checks a KubeNetworkConfig document. */
export function checkSubnets(checks: Checks, value: Fields): void {
  const masks = { 4: maskOf(value, 4), 6: maskOf(value, 6) };
  if (masks[4] === undefined) {
    addError(checks, "nodeCIDRMaskSizeIPv4 must be between 1 and 32", "nodeCIDRMaskSizeIPv4");
  }
  if (masks[6] === undefined) {
    addError(checks, "nodeCIDRMaskSizeIPv6 must be between 1 and 128", "nodeCIDRMaskSizeIPv6");
  }
  const pods = pickTexts(value, "podSubnets");
  const services = pickTexts(value, "serviceSubnets");
  const podProblem = listProblem(pods, (subnet) => podSizeProblem(subnet, masks[subnet.family]));
  if (podProblem !== undefined) addError(checks, `pod subnets: ${podProblem}`, "podSubnets");
  const serviceProblem = listProblem(services, serviceSizeProblem);
  if (serviceProblem !== undefined) {
    addError(checks, `service subnets: ${serviceProblem}`, "serviceSubnets");
  }
  if (pods.length !== services.length) {
    const message = "the number of pod subnets must match the number of service subnets";
    addError(checks, message, "serviceSubnets");
  }
}

function maskOf(value: Fields, family: 4 | 6): number | undefined {
  const mask = pickNumber(value, `nodeCIDRMaskSizeIPv${family}`) || NODE_MASKS[family];
  return mask >= 1 && mask <= (family === 4 ? 32 : 128) ? mask : undefined;
}

function listProblem(
  texts: readonly string[],
  sizeProblem: (subnet: Subnet) => string | undefined,
): string | undefined {
  if (texts.length === 0) return "at least one subnet must be specified";
  if (texts.length > 2) return "at most two subnets can be specified for dual-stack clusters";
  const subnets = texts.map(parseSubnet);
  for (const subnet of subnets) {
    if (!subnet.isMasked) return `invalid subnet: ${subnet.text} is not a valid CIDR`;
    if (subnet.bits - subnet.length < MIN_HOST_BITS) {
      const larger = subnet.length - MIN_HOST_BITS;
      return `invalid subnet: /${subnet.length} is too small, it must be larger than /${larger}`;
    }
    const problem = sizeProblem(subnet);
    if (problem !== undefined) return problem;
  }
  return subnets.length === 2 && subnets[0]?.family === subnets[1]?.family
    ? "at most one IPv4 and one IPv6 subnet can be specified for dual-stack clusters"
    : undefined;
}

function podSizeProblem({ text, length }: Subnet, mask: number | undefined): string | undefined {
  if (mask === undefined) return undefined;
  if (length > mask) {
    return `invalid subnet: ${text} is smaller than the per-node pod CIDR mask size /${mask}`;
  }
  return mask - length > MAX_NODE_BITS
    ? `invalid subnet: ${text} is too large for the per-node pod CIDR mask size /${mask}, ` +
      `the difference must be at most ${MAX_NODE_BITS} bits`
    : undefined;
}

function serviceSizeProblem({ text, bits, length }: Subnet): string | undefined {
  return bits - length > MAX_SERVICE_BITS
    ? `invalid subnet: ${text} is too large, it must be at least /${bits - MAX_SERVICE_BITS} ` +
      `(at most ${MAX_SERVICE_BITS} host identifier bits)`
    : undefined;
}

/** Reads a canonical prefix, which the loader has checked. */
function parseSubnet(text: string): Subnet {
  const [address = "", suffix = ""] = text.split("/");
  const family = address.includes(":") ? 6 : 4;
  const bits = family === 6 ? 128 : 32;
  const length = Number(suffix);
  const number = family === 6 ? ipv6Number(address) : ipv4Number(address);
  return { text, family, bits, length, isMasked: number % (1n << BigInt(bits - length)) === 0n };
}

function ipv4Number(address: string): bigint {
  return address.split(".").reduce((number, part) => number * 256n + BigInt(part), 0n);
}

function ipv6Number(address: string): bigint {
  const [head = "", tail] = address.split("::");
  const groups = (text: string) => text === "" ? [] : text.split(":");
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const missing = Math.max(0, 8 - left.length - right.length);
  const zeros = tail === undefined ? [] : Array<string>(missing).fill("0");
  return [...left, ...zeros, ...right]
    .reduce((number, group) => number * 65_536n + BigInt(parseInt(group, 16) || 0), 0n);
}
