// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Addresses of the configuration: how they are written and who can reach them.
 *
 * @module
 */

import { isIP } from "node:net";

/** A host and a port. */
export interface HostPort {
  /** A name or an IP address without brackets; empty where none was given. */
  readonly host: string;
  readonly port: number;
}

/** Reads `host:port` or `[IPv6]:port`, or returns `undefined`. The host may be empty. */
export function parseHostPort(text: string): HostPort | undefined {
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s/[\]]*)):([0-9]{1,5})$/.exec(text);
  if (parts === null) return undefined;
  const [, bracketed, plain = "", digits = ""] = parts;
  const port = Number(digits);
  if (port > 65535) return undefined;
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined;
  return { host: bracketed ?? plain, port };
}

/** Writes a host and a port so that an IPv6 address can be told from its port. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Writes the address at which machines ask to join. */
export function formatMachineApiUrl(
  { scheme, ...address }: HostPort & { readonly scheme: "grpc" | "https" },
): string {
  return `${scheme}://${formatHostPort(address)}`;
}

/** Who can reach a host: `loopback`, `unspecified` and `linkLocal` lead to no other machine. */
export type HostReach = "none" | "loopback" | "unspecified" | "linkLocal" | "elsewhere";

/** Judges a host without resolving names; `localhost` is loopback by definition. */
export function reachOf(host: string): HostReach {
  if (host === "") return "none";
  const name = host.toLowerCase().replace(/\.$/, "");
  if (name === "localhost" || name.endsWith(".localhost")) return "loopback";
  switch (isIP(name)) {
    case 4:
      return reachOfIpv4(name);
    case 6:
      return reachOfIpv6(name);
    default:
      return "elsewhere";
  }
}

function reachOfIpv4(address: string): HostReach {
  if (address.startsWith("127.")) return "loopback";
  if (address === "0.0.0.0") return "unspecified";
  return address.startsWith("169.254.") ? "linkLocal" : "elsewhere";
}

function reachOfIpv6(address: string): HostReach {
  // The parser of URLs writes each address in one way; it takes no zones.
  const canonical = new URL(`http://[${address.replace(/%.*$/, "")}]/`).hostname.slice(1, -1);
  if (canonical === "::1") return "loopback";
  if (canonical === "::") return "unspecified";
  if (/^fe[89ab]/.test(canonical)) return "linkLocal";
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped === null) return "elsewhere";
  const [high, low] = [parseInt(mapped[1] ?? "0", 16), parseInt(mapped[2] ?? "0", 16)];
  return reachOfIpv4([high >> 8, high & 255, low >> 8, low & 255].join("."));
}
