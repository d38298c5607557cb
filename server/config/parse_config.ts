// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * From the text of a configuration document to a value that nobody has to check again.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { parseDocument } from "yaml";
import { CodedError } from "../../base/errors.ts";
import { hasTooManyQuotes } from "../../base/yaml_quotes.ts";
import type { HostPort } from "./address.ts";
import { type ConfigDocument, DOCUMENT } from "./document.ts";
import { checkRules, type PartialDocument } from "./rules.ts";
import type { Violation } from "./schema.ts";

/** A version that clusters may have. */
export interface OfferedVersion {
  readonly version: string;
  /** The version of Talos inside; equals `version` for an upstream release. */
  readonly talos: string;
  readonly kubernetes: readonly string[];
  readonly deprecated: boolean;
}

/** A configuration that was checked. */
export interface Config extends Omit<ConfigDocument, "talosVersions"> {
  readonly talosVersions: readonly OfferedVersion[];
  /** All addresses at which machines reach the tunnel; at least one. */
  readonly wireguardEndpoints: readonly HostPort[];
  /** The image factory's addresses with the defaults filled in, without a slash at the end. */
  readonly factoryUrls: { readonly base: string; readonly pxe: string };
  /** Where the dictionary of compressed fields is looked for. */
  readonly dictionaryPath: string;
}

/**
 * Reads a configuration document.
 *
 * @throws CodedError `invalidArgument` that names every violation with path, value and rule; its
 *   details hold them as `violations`.
 */
export function parseConfig(text: string): Config {
  const violations: Violation[] = [];
  const report = (violation: Violation): void => void violations.push(violation);
  const source = readYaml(text, report);
  const document = violations.length === 0 ? DOCUMENT.read(source, "", report) : undefined;
  // What was reported is missing here, which the type of a complete document does not say.
  if (document !== undefined) checkRules(document as PartialDocument, source, report);
  if (violations.length > 0 || document === undefined) throw refuse(violations);
  return complete(document);
}

function readYaml(text: string, report: (violation: Violation) => void): unknown {
  if (hasTooManyQuotes(text)) {
    report({ path: "", value: undefined, rule: "has too many quotes in single quotes" });
    return undefined;
  }
  const parsed = parseDocument(text, { prettyErrors: false, uniqueKeys: true });
  for (const error of parsed.errors) {
    const before = text.slice(0, error.pos[0]).split("\n");
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    // The parser's words quote no value; the text around the place might hold a secret.
    report({ path: place, value: undefined, rule: `is not valid YAML (${error.code})` });
  }
  if (parsed.errors.length > 0) return undefined;
  try {
    return parsed.toJS({ maxAliasCount: 100 });
  } catch {
    // The library throws for aliases without an anchor and for those that expand to too much.
    report({ path: "", value: undefined, rule: "has aliases that cannot be resolved" });
    return undefined;
  }
}

/** Puts a violation into words, as one line. */
function describeViolation({ path, value, rule }: Violation): string {
  const where = path === "" ? "the document" : path;
  return value === undefined
    ? `${where} ${rule}`
    : `${where} ${rule}: current value is ${JSON.stringify(value)}`;
}

function refuse(violations: readonly Violation[]): CodedError {
  const lines = violations.map((violation) => `\n  ${describeViolation(violation)}`);
  const count = violations.length === 1 ? "1 violation" : `${violations.length} violations`;
  return new CodedError(
    "invalidArgument",
    `Cannot use the configuration, ${count}:${lines.join("")}`,
    {
      details: { violations },
    },
  );
}

function complete(document: ConfigDocument): Config {
  const { advertisedEndpoint, advertisedEndpoints } = document.wireguard;
  const { baseUrl, pxeBaseUrl } = document.imageFactory;
  return {
    ...document,
    talosVersions: document.talosVersions.map((offered) => ({
      ...offered,
      talos: offered.talos === "" ? offered.version : offered.talos,
    })),
    wireguardEndpoints: [
      ...(advertisedEndpoint === undefined ? [] : [advertisedEndpoint]),
      ...advertisedEndpoints,
    ],
    factoryUrls: { base: baseUrl, pxe: pxeBaseUrl === "" ? pxeUrlOf(baseUrl) : pxeBaseUrl },
    dictionaryPath: document.compression.dictionaryPath !== ""
      ? document.compression.dictionaryPath
      : join(dirname(document.state.sqlite.path), "config.1.zdict"),
  };
}

function pxeUrlOf(baseUrl: string): string {
  return baseUrl.replace(/^(https?:\/\/)/, "$1pxe.");
}
