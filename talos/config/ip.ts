// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Addresses as texts: checks, and the one canonical form of each.
 *
 * @module
 */

const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/** The canonical form of an address, or `undefined` when the text is none. */
export function canonicalAddress(text: string): string | undefined {
  if (IPV4.test(text)) return text;
  const [address = "", zone] = splitOnce(text, "%");
  if (!address.includes(":") || !/^[0-9a-fA-F:.]+$/.test(address) || zone === "") return undefined;
  if (!URL.canParse(`http://[${address}]/`)) return undefined;
  const short = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  const canonical = mapped === null ? short : `::ffff:${dotted(mapped[1] ?? "", mapped[2] ?? "")}`;
  return zone === undefined ? canonical : `${canonical}%${zone}`;
}

/** The canonical form of an address with a prefix length, or `undefined`. */
export function canonicalPrefix(text: string): string | undefined {
  const [address = "", bits = ""] = splitOnce(text, "/");
  const canonical = canonicalAddress(address);
  if (canonical === undefined || canonical.includes("%") || !/^(?:0|[1-9]\d{0,2})$/.test(bits)) {
    return undefined;
  }
  return Number(bits) <= (canonical.includes(":") ? 128 : 32) ? `${canonical}/${bits}` : undefined;
}

/** The canonical form of an address with a port, or `undefined`. */
export function canonicalAddressPort(text: string): string | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text);
  if (match === null || Number(match[3]) > 65_535) return undefined;
  const canonical = canonicalAddress(match[1] ?? match[2] ?? "");
  if (canonical === undefined) return undefined;
  const host = canonical.includes(":") ? `[${canonical}]` : canonical;
  return `${host}:${Number(match[3])}`;
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at === -1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function dotted(high: string, low: string): string {
  const bits = parseInt(high, 16) * 65_536 + parseInt(low, 16);
  return [bits >>> 24, (bits >>> 16) & 255, (bits >>> 8) & 255, bits & 255].join(".");
}
