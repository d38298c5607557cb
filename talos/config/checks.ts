// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What checks of a document have in common: where findings go, and how values are read.
 *
 * @module
 */

import type { Fields } from "./decode.ts";
import { canonicalAddress, canonicalPrefix } from "./ip.ts";

/** Where the checks of one document put what they find. */
export interface Checks {
  readonly errors: CheckFinding[];
  readonly warnings: CheckFinding[];
}

/** One finding, with the path of the field where one field is to blame. */
export interface CheckFinding {
  readonly message: string;
  readonly path: string | undefined;
}

/** A check of one kind of document. */
export type DocumentCheck = (checks: Checks, value: Fields) => void;

/** An empty place for findings. */
export function newChecks(): Checks {
  return { errors: [], warnings: [] };
}

/** Adds an error. */
export function addError(checks: Checks, message: string, path?: string): void {
  checks.errors.push({ message, path });
}

/** Adds a warning. */
export function addWarning(checks: Checks, message: string, path?: string): void {
  checks.warnings.push({ message, path });
}

/** The value at a path such as `machine.network`, or `undefined`. */
export function pick(root: unknown, path: string): unknown {
  let value = root;
  for (const step of path.split(".")) {
    if (value instanceof Map) value = value.get(step);
    else if (isFields(value)) value = value[step];
    else return undefined;
  }
  return value ?? undefined;
}

/** The text at a path; empty when there is none. */
export function pickText(root: unknown, path: string): string {
  const value = pick(root, path);
  return typeof value === "string" ? value : "";
}

/** The number at a path; 0 when there is none. */
export function pickNumber(root: unknown, path: string): number {
  const value = pick(root, path);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : 0;
}

/** Whether the value at a path is true. */
export function isTrue(root: unknown, path: string): boolean {
  return pick(root, path) === true;
}

/** The list at a path; empty when there is none. */
export function pickList(root: unknown, path: string): readonly unknown[] {
  const value = pick(root, path);
  return Array.isArray(value) ? value : [];
}

/** The texts at a path; empty when there are none. */
export function pickTexts(root: unknown, path: string): readonly string[] {
  return pickList(root, path).filter((item) => typeof item === "string");
}

/** Names and values of the mapping at a path; empty when there is none. */
export function pickEntries(root: unknown, path: string): readonly (readonly [string, unknown])[] {
  const value = pick(root, path);
  if (value instanceof Map) return [...value as Map<string, unknown>];
  return isFields(value) ? Object.entries(value) : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reports a document without a name. */
export function requireName(
  checks: Checks,
  value: Fields,
  message = "name must be specified",
): void {
  if (pickText(value, "name") === "") addError(checks, message, "name");
}

/** Whether a text is a network or an address, possibly negated by a leading `!`. */
export function isSubnet(text: string): boolean {
  const subnet = text.replace(/^!/, "");
  return canonicalPrefix(subnet) !== undefined || canonicalAddress(subnet) !== undefined;
}

/** Whether a text is an address, with or without a prefix length. */
export function isAddressOrPrefix(text: string): boolean {
  return (text.includes("/") ? canonicalPrefix(text) : canonicalAddress(text)) !== undefined;
}

/** Parts of a URL that rules are about; empty where the text has none. */
export interface UrlParts {
  readonly scheme: string;
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/** Splits a URL as far as rules need it. */
export function splitUrl(url: string): UrlParts {
  const match =
    /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^:/?#]*)(?::(\d*))?)?([^?#]*)/i
      .exec(url);
  return {
    scheme: (match?.[1] ?? "").toLowerCase(),
    host: match?.[2] ?? "",
    port: match?.[3] ?? "",
    path: match?.[4] ?? "",
  };
}

/** Why a URL cannot be an endpoint, or `undefined`. */
export function endpointProblem(url: string): string | undefined {
  const { host, port } = splitUrl(url);
  if (host === "" || host === "[]") return "hostname must not be blank";
  if (port !== "" && (Number(port) < 1 || Number(port) > 65_535)) {
    return "port number must be between 1 and 65535";
  }
  return undefined;
}

/** A text in double quotes, as messages show it. */
export function quote(text: string): string {
  return JSON.stringify(text);
}
