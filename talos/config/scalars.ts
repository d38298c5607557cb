// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Scalars with rules of their own: how each is read, and the canonical text of its value.
 *
 * A reader returns the value in the form in which it is kept, or throws a {@linkcode RangeError}
 * whose message says what was wanted; the caller knows the place.
 *
 * @module
 */

import { parseDuration, printDuration } from "../../base/duration.ts";
import { canonicalAddress, canonicalAddressPort, canonicalPrefix } from "./ip.ts";
import type { ScalarName } from "./schema.ts";
import type { ScalarNode } from "./yaml_node.ts";
import { parseInteger, resolveScalar } from "./yaml_resolve.ts";
import { NodeText, RawScalar, type YamlValue } from "./yaml_write.ts";

/** A scalar as it is kept. */
export type ScalarValue = string | number | bigint | boolean | RawScalar | null;

/** What stands for a secret in a redacted configuration; it is accepted where a key is wanted. */
export const REDACTED_VALUE = "******";

/** Reads a scalar. Null becomes the zero value of the type. */
export function readScalar(name: ScalarName, node: ScalarNode): ScalarValue {
  const reader = READERS[name];
  if (reader === undefined) return readAny(node);
  if (resolveScalar(node).type === "null") return zeroScalar(name);
  if (node.text === "" && MAY_BE_EMPTY.has(name)) return "";
  return reader(node.text, node);
}

/** The value of an absent scalar. */
export function zeroScalar(name: ScalarName): ScalarValue {
  switch (name) {
    case "bool":
      return false;
    case "int":
    case "int32":
    case "uint":
    case "uint16":
    case "uint32":
    case "uint8":
    case "float":
    case "octal":
    case "diskSize":
    case "portRange":
      return 0;
    case "any":
      return null;
    case "duration":
      return "0s";
    case "routingTable":
      return "unspec";
    default:
      return "";
  }
}

/** Whether a value is the zero value of its type. */
export function isZeroScalar(name: ScalarName, value: unknown): boolean {
  return value === zeroScalar(name) || value === 0n;
}

/** The value in the form in which it is printed. */
export function printScalar(name: ScalarName, value: ScalarValue): YamlValue {
  // Arguments are printed as nodes; an empty one has no text at all.
  if (name === "arg") return value === "" ? null : new NodeText(String(value));
  if (name === "octal" && typeof value === "number") return new RawScalar(`0o${value.toString(8)}`);
  return name === "diskSize" && typeof value === "number" ? printDiskSize(value) : value;
}

/** Texts with rules that do not apply to an empty one. */
const MAY_BE_EMPTY: ReadonlySet<ScalarName> = new Set([
  "addr",
  "addrPort",
  "byteSize",
  "percentage",
  "prefix",
  "size",
]);

type Reader = (text: string, node: ScalarNode) => ScalarValue;

const READERS: Partial<Record<ScalarName, Reader>> = {
  addr: (text) => canonicalAddress(text) ?? refuse("an IP address"),
  addrPort: (text) => canonicalAddressPort(text) ?? refuse("an IP address with a port"),
  arg: (text) => text,
  base64: readBase64,
  bool: readBool,
  byteSize: readByteSize,
  cel: (text) => text,
  diskMatcher: readDiskMatcher,
  diskSize: (text) => parseBytes(text),
  duration: readDuration,
  float: (_, node) => {
    const resolved = resolveScalar(node);
    return resolved.type === "float" || resolved.type === "int"
      ? Number(resolved.value)
      : refuse("a number");
  },
  int: (_, node) => readInteger(node, -(1n << 63n), (1n << 63n) - 1n),
  int32: (_, node) => readInteger(node, -(1n << 31n), (1n << 31n) - 1n),
  mac: readMac,
  octal: (_, node) => readInteger(node, 0n, (1n << 32n) - 1n),
  percentage: readPercentage,
  portRange: readPortRange,
  prefix: (text) => canonicalPrefix(text) ?? refuse("an IP address with a prefix length"),
  routingTable: readRoutingTable,
  size: (text) => text.includes("%") ? readPercentage(text) : readByteSize(text),
  str: (text) => text,
  // Manifests lose the line breaks before their first line.
  trimmed: (text) => text.replace(/^[\t\n\v\f\r]+/, ""),
  uint: (_, node) => readInteger(node, 0n, (1n << 64n) - 1n),
  uint16: (_, node) => readInteger(node, 0n, (1n << 16n) - 1n),
  uint32: (_, node) => readInteger(node, 0n, (1n << 32n) - 1n),
  uint8: (_, node) => readInteger(node, 0n, (1n << 8n) - 1n),
  url: readUrl,
};

function refuse(wanted: string): never {
  throw new RangeError(`want ${wanted}`);
}

/** A value without a type of its own. */
function readAny(node: ScalarNode): ScalarValue {
  const resolved = resolveScalar(node);
  switch (resolved.type) {
    case "null":
      return null;
    case "int":
      return toNumber(resolved.value);
    case "timestamp":
      return new RawScalar(resolved.value);
    default:
      return resolved.value;
  }
}

function toNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

function readInteger(node: ScalarNode, low: bigint, high: bigint): number | bigint {
  const resolved = resolveScalar(node);
  const value = resolved.type === "int"
    ? resolved.value
    : resolved.type === "float" && Number.isInteger(resolved.value)
    ? BigInt(resolved.value)
    : undefined;
  if (value === undefined) refuse("an integer");
  if (value < low || value > high) refuse(`an integer from ${low} to ${high}`);
  return toNumber(value);
}

// Words of YAML 1.1 that are booleans only where a boolean is wanted.
const YES = new Set(["true", "True", "TRUE", "y", "Y", "yes", "on"]);
const NO = new Set(["false", "False", "FALSE", "n", "N", "no", "off"]);

function readBool(text: string): boolean {
  return YES.has(text) ? true : NO.has(text) ? false : refuse("true or false");
}

function readBase64(text: string): string {
  if (text === REDACTED_VALUE) return text;
  const packed = text.replace(/[\r\n]/g, "");
  if (packed.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(packed)) refuse("base64");
  return packed;
}

const BYTE_UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  ...Object.fromEntries(
    [..."kmgtpe"].flatMap((unit, i) => [
      [unit, 1000 ** (i + 1)],
      [`${unit}b`, 1000 ** (i + 1)],
      [`${unit}i`, 1024 ** (i + 1)],
      [`${unit}ib`, 1024 ** (i + 1)],
    ]),
  ),
};

/** Reads a size such as `100GB`, `1.5 GiB` or `2ti` in bytes. */
export function parseBytes(text: string): number {
  const match = /^([0-9.,]*)(.*)$/s.exec(text);
  const digits = (match?.[1] ?? "").replaceAll(",", "");
  const factor = BYTE_UNITS[(match?.[2] ?? "").trim().toLowerCase()];
  if (factor === undefined || !/^(?:\d+\.?\d*|\.\d+)$/.test(digits)) {
    refuse("a size such as 100GiB");
  }
  const bytes = Number(digits) * factor;
  if (bytes >= 2 ** 64) refuse("a size below 16EiB");
  return Math.floor(bytes);
}

function readByteSize(text: string): string {
  parseBytes(text.replace(/^-/, ""));
  return text;
}

function readPercentage(text: string): string {
  const match = /^-?(\d+\.?\d*|\.\d+)%$/.exec(text);
  if (match === null || Number(match[1]) > 100) refuse("a percentage from 0% to 100%");
  return text;
}

function printDiskSize(bytes: number): string | number {
  if (bytes % 1000 !== 0 || bytes < 10) return bytes;
  const power = Math.min(6, Math.floor(Math.log10(bytes) / 3 + 1e-9));
  const value = Math.floor(bytes / 1000 ** power * 10 + 0.5) / 10;
  const text = `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ${
    ["B", "kB", "MB", "GB", "TB", "PB", "EB"][power]
  }`;
  return parseBytes(text) === bytes ? text : bytes;
}

function readDiskMatcher(text: string): string {
  const trimmed = text.trim();
  parseBytes(trimmed.replace(/^(?:>=|<=|==|>|<)/, "").trim());
  return trimmed;
}

function readDuration(text: string): string {
  const integer = /^[-+]?\d+$/.test(text) ? parseInteger(text) : undefined;
  // A bare number counts nanoseconds.
  const seconds = integer === undefined ? parseDuration(text) : Number(integer) / 1e9;
  return seconds === undefined ? refuse("a duration such as 1h30m") : printDuration(seconds);
}

function readMac(text: string): string {
  const bytes = text.split(/[:-]/);
  const isMac = bytes.length > 0 && bytes.every((byte) => /^[0-9a-fA-F]{2}$/.test(byte));
  return isMac ? bytes.join(":").toLowerCase() : refuse("a hardware address");
}

function readPortRange(text: string): string | number {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  const [low, high] = [Number(match?.[1]), Number(match?.[2] ?? match?.[1])];
  if (match === null || low > 65_535 || high > 65_535) refuse("a port or a range of ports");
  return low === high ? low : `${low}-${high}`;
}

/** Tables that are known by name, and by no number. */
const NAMED_TABLES = ["unspec", "default", "main", "local"];

function readRoutingTable(text: string): string {
  const isNumber = /^[1-9]\d{0,2}$/.test(text) && Number(text) < 253;
  return isNumber || NAMED_TABLES.includes(text) ? text : refuse("a routing table");
}

function readUrl(text: string): string {
  // deno-lint-ignore no-control-regex -- what Go's parser refuses too
  if (/[\x00-\x1f\x7f]/.test(text)) refuse("a URL without control characters");
  const host = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?#]*@)?([^/?#]*)/i.exec(text)?.[1];
  if (host === undefined) {
    if (/^[^/?#]*:/.test(text) && !/^[a-z][a-z0-9+.-]*:/i.test(text)) refuse("a URL");
    return text;
  }
  if (!/^(?:\[[^\]]*\]|[^:[\]\s]*)(?::\d*)?$/.test(host)) refuse("a URL with a host and a port");
  return text;
}
