// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The kinds of values that keys of the configuration have.
 *
 * @module
 */

import { isIP } from "node:net";
import { parseDuration } from "../../base/duration.ts";
import type { PortRange } from "../../base/port_range.ts";
import { Secret } from "../../base/redact.ts";
import { type HostPort, parseHostPort } from "./address.ts";
import type { Parsed } from "./schema.ts";

/** Reads a non-empty string. */
export function parseText(value: unknown): Parsed<string> {
  if (typeof value === "string" && value !== "") return { ok: value };
  return { rule: "must be a text that is not empty" };
}

/** Reads a string that may be empty. */
export function parseAnyText(value: unknown): Parsed<string> {
  return typeof value === "string" ? { ok: value } : { rule: "must be a text" };
}

/** Reads `true` or `false`. */
export function parseFlag(value: unknown): Parsed<boolean> {
  return typeof value === "boolean" ? { ok: value } : { rule: "must be true or false" };
}

/** Reads one of several words. */
export function parseOneOf<const W extends string>(
  words: readonly W[],
): (value: unknown) => Parsed<W> {
  return (value) => {
    const word = words.find((candidate) => candidate === value);
    return word === undefined ? { rule: `must be one of ${words.join(", ")}` } : { ok: word };
  };
}

/** Reads a whole number within bounds. */
export function parseWhole(minimum: number, maximum: number): (value: unknown) => Parsed<number> {
  return (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= minimum && value <= maximum
      ? { ok: value }
      : { rule: `must be a whole number from ${minimum} to ${maximum}` };
}

/** Reads the address to listen on; without a host it is every interface. */
export function parseBind(value: unknown): Parsed<HostPort> {
  const parsed = typeof value === "string" ? parseHostPort(value) : undefined;
  if (parsed === undefined) return { rule: 'must be "<host>:<port>" with a port up to 65535' };
  return { ok: parsed };
}

/** Reads the address that others dial. */
export function parseEndpoint(value: unknown): Parsed<HostPort> {
  const parsed = typeof value === "string" ? parseHostPort(value) : undefined;
  if (parsed !== undefined && parsed.host !== "" && parsed.port > 0) return { ok: parsed };
  return { rule: 'must be "<host>:<port>" with a host and a port from 1 to 65535' };
}

/** The address that machines dial, and whether they do it over TLS. */
export interface MachineApiUrl extends HostPort {
  readonly scheme: "grpc" | "https";
}

/** Reads the address that machines dial: `grpc://` without, `https://` with TLS. */
export function parseMachineApiUrl(value: unknown): Parsed<MachineApiUrl> {
  const parts = typeof value === "string" ? /^(grpc|https):\/\/(.*)$/.exec(value) : null;
  const parsed = parts === null ? undefined : parseEndpoint(parts[2]);
  if (parsed !== undefined && "ok" in parsed) {
    return { ok: { ...parsed.ok, scheme: parts?.[1] === "https" ? "https" : "grpc" } };
  }
  return {
    rule: 'must be "grpc://<host>:<port>" with a host and an explicit port, ' +
      "or the same with https:// where siderolink.tls is set",
  };
}

/** Reads an `http://` or `https://` URL; the result has no slash at its end. */
export function parseWebUrl(value: unknown): Parsed<string> {
  const rule = "must be an http:// or https:// URL with a host and without user, query, fragment";
  if (typeof value !== "string" || !/^https?:\/\//.test(value)) return { rule };
  if (!URL.canParse(value)) return { rule };
  const url = new URL(value);
  const plain = url.hostname !== "" && url.username === "" && url.password === "" &&
    !value.includes("?") && !value.includes("#") && !/^https?:\/\/[^/]*@/.test(value);
  return plain ? { ok: value.replace(/\/+$/, "") } : { rule };
}

/** Reads a URL that may be left empty. */
export function parseOptionalWebUrl(value: unknown): Parsed<string> {
  return value === "" ? { ok: "" } : parseWebUrl(value);
}

/** Tells whether the host of a URL is an IP address. */
export function hasIpHost(url: string): boolean {
  return isIP(new URL(url).hostname.replace(/^\[|\]$/g, "")) !== 0;
}

/** Reads a duration such as `10m` or `4m35s` in milliseconds, at least `minimumMs`. */
export function parseTimeSpan(
  minimumMs: number,
  minimumText: string,
): (value: unknown) => Parsed<number> {
  const rule = `must be a duration such as "90s", "10m" or "168h", ${minimumText}`;
  return (value) => {
    const seconds = typeof value === "string" ? parseDuration(value) : undefined;
    const ms = Math.round((seconds ?? NaN) * 1000);
    return Number.isSafeInteger(ms) && ms >= minimumMs ? { ok: ms } : { rule };
  };
}

const SIZE_UNITS: Readonly<Record<string, number>> = {
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};

/** Reads a size such as `64MiB` in bytes. */
export function parseSize(value: unknown): Parsed<number> {
  const parts = typeof value === "string"
    ? /^([1-9][0-9]{0,9})(KiB|MiB|GiB|TiB)$/.exec(value)
    : null;
  if (parts === null) return { rule: 'must be a size such as "64MiB" or "10GiB"' };
  return { ok: Number(parts[1]) * (SIZE_UNITS[parts[2] ?? ""] ?? 1) };
}

/** Reads `<first>-<last>`. */
export function parsePortRange(value: unknown): Parsed<PortRange> {
  const parts = typeof value === "string" ? /^([0-9]{1,5})-([0-9]{1,5})$/.exec(value) : null;
  const [first, last] = [Number(parts?.[1] ?? 0), Number(parts?.[2] ?? 0)];
  if (first >= 1 && last <= 65535 && first <= last) return { ok: { first, last } };
  return {
    rule: 'must be "<first>-<last>" with ports from 1 to 65535, the first not above the last',
  };
}

/** Reads a DNS-1123 label. */
export function parseDnsLabel(value: unknown): Parsed<string> {
  if (typeof value === "string" && /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(value)) {
    return { ok: value };
  }
  return { rule: "must be a DNS-1123 label: up to 63 of a-z, 0-9 and -, no - at either end" };
}

/** Reads a version with or without a leading `v`, which is dropped. */
export function parseVersion(value: unknown): Parsed<string> {
  const text = typeof value === "string" ? value.replace(/^v/, "") : "";
  if (/^[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.test(text)) {
    return { ok: text };
  }
  return { rule: 'must be a version such as "1.12.10", in quotes' };
}

/** Reads a version that may be left empty. */
export function parseOptionalVersion(value: unknown): Parsed<string> {
  return value === "" ? { ok: "" } : parseVersion(value);
}

/** Reads a plain join token: no version prefix, at most 1024 bytes, no space at either end. */
export function parseJoinToken(value: unknown): Parsed<Secret | undefined> {
  if (value === "") return { ok: undefined };
  if (typeof value !== "string") return { rule: "must be a text" };
  const rule =
    'must be a plain token: no prefix such as "v1:", at most 1024 bytes, no space at either end';
  const plain = !/^v[0-9]+:/.test(value) && new TextEncoder().encode(value).length <= 1024 &&
    value.trim() === value;
  return plain ? { ok: new Secret(value) } : { rule };
}

/** Reads the path of a file that SQLite opens. */
export function parseDatabasePath(value: unknown): Parsed<string> {
  if (typeof value === "string" && value !== "" && !value.includes("?")) return { ok: value };
  return { rule: 'must be the path of a file, without "?"' };
}
