// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How resources are shown: as a table, as documents, or by their names.
 *
 * Everything is made from the text that the server sends, so that it needs no definitions of types.
 *
 * @module
 */

import { parse } from "yaml";
import { CodedError } from "../base/errors.ts";
import { hasTooManyQuotes } from "../base/yaml_quotes.ts";
import type { Instant, Metadata } from "../cosi/resource.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
import type { EventType } from "../cosi/state/state.ts";
import type { TypeDefinition } from "./ctl_types.ts";
import { valueAt } from "./output_path.ts";
import { createTable } from "./output_table.ts";

/** The formats of `--output`. */
export const FORMATS = ["table", "wide", "yaml", "json", "name"] as const;

/** A format of `--output`. */
export type Format = typeof FORMATS[number];

/** A resource, and in a watch what happened to it. */
export interface Shown {
  readonly resource: RawResource;
  readonly event?: EventType;
}

/** Turns batches of resources into text. */
export interface ResourcePrinter {
  /** Text for some resources; `whole` says that they are all there will be. */
  print(batch: readonly Shown[], whole: boolean): string;
}

/** Creates a printer. */
export function createPrinter(
  format: Format,
  definition: TypeDefinition,
  options: { readonly watch: boolean; readonly single: boolean; readonly bold: boolean },
): ResourcePrinter {
  switch (format) {
    case "name":
      return { print: (batch) => batch.map(({ resource }) => `${nameOf(resource)}\n`).join("") };
    case "yaml":
      return yamlPrinter();
    case "json":
      return { print: (batch, whole) => printJson(batch, whole && !options.single) };
    case "table":
    case "wide":
      return tablePrinter(format, definition, options);
  }
}

function nameOf({ metadata }: RawResource): string {
  return `${metadata.type}/${metadata.id}`;
}

function tablePrinter(
  format: "table" | "wide",
  { printColumns }: TypeDefinition,
  { watch, bold }: { readonly watch: boolean; readonly bold: boolean },
): ResourcePrinter {
  const wide = format === "wide";
  const table = createTable([
    ...(watch ? ["event"] : []),
    "namespace",
    "type",
    "id",
    "version",
    ...printColumns.map(({ name }) => name),
    ...(wide ? ["phase", "owner", "created", "labels"] : []),
  ], { bold });
  return {
    print: (batch) =>
      table.render(batch.map(({ resource, event }) => {
        const { metadata } = resource;
        const spec = printColumns.length === 0 ? undefined : specOf(resource);
        return [
          ...(watch ? [event ?? ""] : []),
          metadata.namespace,
          metadata.type.split(".", 1)[0] ?? "",
          metadata.id,
          versionText(metadata),
          ...printColumns.map(({ jsonPath }) => valueAt(spec, jsonPath)),
          ...(wide
            ? [metadata.phase, metadata.owner, timeText(metadata.created), labelText(metadata)]
            : []),
        ];
      })),
  };
}

function versionText({ version }: Metadata): string {
  return version === 0 ? "undefined" : String(version);
}

function timeText(instant: Instant | undefined): string {
  if (instant === undefined) return "";
  return new Date(Number(instant.seconds) * 1000).toISOString().replace(".000Z", "Z");
}

function labelText({ labels }: Metadata): string {
  return Object.entries(labels).map(([key, value]) => value === "" ? key : `${key}=${value}`)
    .join(",");
}

/**
 * The spec as plain values; whole numbers beyond 2^53 stay exact.
 *
 * @throws CodedError `failedPrecondition` for a text that the YAML library does not survive.
 */
export function specOf({ metadata, yamlSpec }: RawResource): unknown {
  if (hasTooManyQuotes(yamlSpec)) {
    throw new CodedError(
      "failedPrecondition",
      `Cannot show ${metadata.type} ${metadata.id}: its spec has too many quotes in single quotes`,
    );
  }
  return parse(yamlSpec, { intAsBigInt: true, maxAliasCount: 0 });
}

function metadataObject(metadata: Metadata): Record<string, unknown> {
  const { namespace, type, id, owner, phase, created, updated } = metadata;
  const { finalizers, labels, annotations } = metadata;
  return {
    namespace,
    type,
    id,
    version: metadata.version === 0 ? "undefined" : metadata.version,
    owner,
    phase,
    ...(created === undefined ? {} : { created: timeText(created) }),
    ...(updated === undefined ? {} : { updated: timeText(updated) }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    ...(finalizers.length === 0 ? {} : { finalizers }),
  };
}

/** The part of JSON that the library's types do not know: text that goes out as it is. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

function exactNumbers(_: string, value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : rawJSON(String(value));
}

function printJson(batch: readonly Shown[], asList: boolean): string {
  const documents = batch.map(({ resource, event }) => ({
    ...(event === undefined ? {} : { event }),
    metadata: metadataObject(resource.metadata),
    spec: specOf(resource),
  }));
  if (asList) return `${JSON.stringify(documents, exactNumbers, 2)}\n`;
  const indent = batch.some(({ event }) => event !== undefined) ? undefined : 2;
  return documents.map((each) => `${JSON.stringify(each, exactNumbers, indent)}\n`).join("");
}

function yamlPrinter(): ResourcePrinter {
  let first = true;
  return {
    print: (batch) =>
      batch.map(({ resource, event }) => {
        const head = first ? "" : "---\n";
        first = false;
        return `${head}${event === undefined ? "" : `event: ${event}\n`}${yamlDocument(resource)}`;
      }).join(""),
  };
}

/** The document of one resource, as `apply` reads it. The spec is the server's own text. */
export function yamlDocument({ metadata, yamlSpec }: RawResource): string {
  const lines = ["metadata:"];
  for (const [key, value] of Object.entries(metadataObject(metadata))) {
    if (Array.isArray(value)) {
      lines.push(`    ${key}:`, ...value.map((item) => `        - ${quote(item)}`));
    } else if (typeof value === "object" && value !== null) {
      const pairs = Object.entries(value).toSorted(([left], [right]) => left < right ? -1 : 1);
      lines.push(`    ${key}:`, ...pairs.map(([name, text]) => `        ${name}: ${quote(text)}`));
    } else lines.push(`    ${key}: ${quote(value)}`);
  }
  const text = `${lines.join("\n")}\n`;
  if (/^[{["']/.test(yamlSpec) || yamlSpec === "") return `${text}spec: ${yamlSpec || "{}\n"}`;
  return `${text}spec:\n${yamlSpec.replace(/^(?=[^\n])/gm, "    ")}`;
}

function quote(value: unknown): string {
  const text = String(value);
  if (typeof value === "number") return text;
  // Every JSON text is YAML too; plain words need no quotes.
  return /^[A-Za-z][\w./:@-]*[\w]$/.test(text) && !/^(true|false|null|yes|no|on|off)$/i.test(text)
    ? text
    : JSON.stringify(text);
}
