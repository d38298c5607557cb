// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads YAML that a stranger may have written: bounded in size, depth and number of aliases.
 *
 * @module
 */

import { type Document, LineCounter, parseAllDocuments } from "yaml";
import { CodedError } from "../../base/errors.ts";

/** Largest text that is read, in UTF-16 units. A real configuration is below 100 KiB. */
export const MAX_TEXT_LENGTH = 4 << 20;

/** A parsed stream of documents, with what is needed to name a place in it. */
export interface YamlStream {
  readonly documents: readonly Document.Parsed[];
  readonly lines: LineCounter;
}

/**
 * Parses a stream of documents.
 *
 * @throws CodedError `invalidArgument` with line, column and the offending text.
 */
export function parseYamlStream(text: string): YamlStream {
  if (text.length > MAX_TEXT_LENGTH) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read YAML: ${text.length} characters, at most ${MAX_TEXT_LENGTH} are allowed`,
    );
  }
  const lines = new LineCounter();
  const parsed = parseAllDocuments(text, {
    lineCounter: lines,
    version: "1.2",
    merge: true,
    prettyErrors: false,
    intAsBigInt: false,
  });
  const documents = Array.isArray(parsed) ? parsed as Document.Parsed[] : [];
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) throw yamlError(text, lines, error.pos[0], error.message);
  }
  return { documents, lines };
}

/** The value of a text that must be one small document without surprises. */
export function parseSimpleYaml(text: string): unknown {
  const { documents } = parseYamlStream(text);
  const [document] = documents;
  if (document === undefined || documents.length !== 1) {
    throw new CodedError("invalidArgument", "Cannot read YAML: want exactly one document");
  }
  return document.toJS({ maxAliasCount: 100 });
}

function yamlError(text: string, lines: LineCounter, at: number, message: string): CodedError {
  const { line, col } = lines.linePos(at);
  const source = text.split("\n", line)[line - 1]?.trim().slice(0, 80) ?? "";
  return new CodedError(
    "invalidArgument",
    `Cannot read YAML at line ${line}, column ${col}: ${message.split("\n")[0]}: "${source}"`,
    { details: { line, column: col } },
  );
}
