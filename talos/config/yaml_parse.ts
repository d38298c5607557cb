// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads a text of YAML into nodes.
 *
 * A stranger may have written it: size, nesting and the number of tokens are bounded before the
 * parser sees it, and an anchor may not contain itself.
 *
 * @module
 */

import { type Document, isAlias, isMap, isScalar, isSeq, type Node, parseAllDocuments } from "yaml";
import { CodedError } from "../../base/errors.ts";
import { hasTooManyQuotes } from "../../base/yaml_quotes.ts";
import { parseBlockYaml } from "./yaml_block.ts";
import type { MapEntry, YamlNode, YamlRoot, YamlText } from "./yaml_node.ts";

/** Longest text that is read, in UTF-16 units. Real configurations are below 100,000. */
const MAX_TEXT_LENGTH = 1 << 20;

/** Deepest nesting that is read. */
const MAX_DEPTH = 100;

/** Most marks (line breaks, indicators) that are read: bounds the time of parsing. */
const MAX_MARKS = 60_000;

/**
 * Parses a text.
 *
 * @throws CodedError `invalidArgument`; details hold `line` and `column` for a mistake in the text.
 */
export function parseYamlText(source: string): YamlText {
  guardText(source);
  const position = createPositions(source);
  const plain = parseBlockYaml(source);
  if (plain !== undefined) return { source, roots: plain, position };
  return { source, roots: parseFullYaml(source, position), position };
}

/**
 * Parses a text with the full parser, which knows all of YAML.
 *
 * @throws CodedError `invalidArgument`
 */
export function parseFullYaml(source: string, position: YamlText["position"]): YamlRoot[] {
  if (hasTooManyQuotes(source)) {
    throw new CodedError("invalidArgument", "Cannot read YAML: the text has too many quotes");
  }
  let parsed: Document.Parsed[];
  try {
    parsed = parseAllDocuments(source, {
      schema: "failsafe",
      prettyErrors: false,
      logLevel: "error",
    }) as Document.Parsed[];
  } catch (cause) {
    throw new CodedError("invalidArgument", "Cannot read YAML: the text is nested too deeply", {
      cause,
    });
  }
  const roots: YamlRoot[] = [];
  for (const document of Array.isArray(parsed) ? parsed : []) {
    const [error] = document.errors;
    if (error !== undefined) throw parseError(source, error.code, error.pos[0], error, position);
    const node = new Composer(source, position).compose(document.contents, 0);
    roots.push({ node, start: document.range[0] });
  }
  return roots;
}

/** The line of a text, shortened for an error message. */
export function sourceLine(source: string, line: number): string {
  return source.split("\n", line)[line - 1]?.trimEnd().slice(0, 100) ?? "";
}

function guardText(source: string): void {
  if (source.length > MAX_TEXT_LENGTH) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read YAML: the text has ${source.length} characters, ${MAX_TEXT_LENGTH} are allowed`,
    );
  }
  let marks = 0;
  let depth = 0;
  let indent = 0;
  let atStart = true;
  for (let i = 0; i < source.length; i++) {
    const code = source.charCodeAt(i);
    if (code === 0x0a) {
      marks++;
      indent = 0;
      atStart = true;
      continue;
    }
    if (code < 0x20 && code !== 0x09 && code !== 0x0d || code === 0x7f) {
      const { line, column } = createPositions(source)(i);
      throw new CodedError(
        "invalidArgument",
        `decode error: go-yaml load error at L${line}.C${column}: control characters are not allowed`,
        { details: { line, column } },
      );
    }
    if (code === 0x20 || code === 0x09) {
      if (atStart) indent++;
      continue;
    }
    // Dashes and question marks at the start of a line open nested blocks.
    if (code === 0x2d || code === 0x3f) {
      marks++;
      if (atStart && ++indent > 4 * MAX_DEPTH) depth = MAX_DEPTH + 1;
    } else atStart = false;
    if (code === 0x5b || code === 0x7b) {
      marks++;
      depth++;
    } else if (code === 0x5d || code === 0x7d) {
      marks++;
      depth = Math.max(0, depth - 1);
    } else if (code === 0x2c || code === 0x3a || code === 0x26 || code === 0x2a) marks++;
    if (marks > MAX_MARKS || depth > MAX_DEPTH) {
      const what = depth > MAX_DEPTH ? "is nested too deeply" : "has too many parts";
      throw new CodedError("invalidArgument", `Cannot read YAML: the text ${what}`);
    }
  }
}

/** A function that tells line and column of an offset, both from 1. */
export function createPositions(source: string): YamlText["position"] {
  let starts: number[] | undefined;
  return (offset) => {
    starts ??= lineStarts(source);
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 };
  };
}

function lineStarts(source: string): number[] {
  const starts = [0];
  for (let at = source.indexOf("\n"); at !== -1; at = source.indexOf("\n", at + 1)) {
    starts.push(at + 1);
  }
  return starts;
}

function parseError(
  source: string,
  code: string,
  offset: number,
  cause: Error,
  position: YamlText["position"],
): CodedError {
  // What is missing at the end is shown behind the last text, not on an empty line.
  const end = source.trimEnd().length;
  // A second ": " on one line: the library points at the value, Talos at the colon.
  const at = code === "BLOCK_AS_IMPLICIT_KEY" ? secondColon(source, offset) : Math.min(offset, end);
  const { line, column } = position(at);
  const reason = code === "BLOCK_AS_IMPLICIT_KEY"
    ? "in scanner at L" + `${line}.C${column}: mapping values are not allowed in this context`
    : `at L${line}.C${column}: ${cause.message.split("\n")[0]}`;
  return new CodedError("invalidArgument", `decode error: go-yaml load error ${reason}`, {
    details: { line, column, source: sourceLine(source, line) },
  });
}

function secondColon(source: string, offset: number): number {
  const end = source.indexOf("\n", offset);
  const colon = /:(?=[ \t]|$)/.exec(source.slice(offset, end === -1 ? undefined : end));
  return colon === null ? offset : offset + colon.index;
}

/** Builds the tree of one document. */
class Composer {
  readonly #anchors = new Map<string, YamlNode | undefined>();

  constructor(
    readonly source: string,
    readonly position: YamlText["position"],
  ) {}

  compose(node: Node | null | undefined, depth: number): YamlNode {
    if (depth > MAX_DEPTH) {
      throw new CodedError("invalidArgument", "Cannot read YAML: the text is nested too deeply");
    }
    const offset = node?.range?.[0] ?? 0;
    if (isAlias(node)) return this.#resolve(node.source, offset);
    if (isScalar(node)) {
      const isPlain = node.type === "PLAIN" || node.type === undefined;
      const text = typeof node.value === "string" ? node.value : "";
      return this.#keep(node.anchor, { kind: "scalar", offset, text, isPlain, tag: tagOf(node) });
    }
    if (isSeq(node)) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, undefined);
      const items = node.items.map((item) => this.compose(item as Node | null, depth + 1));
      return this.#keep(node.anchor, { kind: "seq", offset, items });
    }
    if (isMap(node)) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, undefined);
      const entries = this.#entries(node.items as readonly MapPair[], depth + 1);
      return this.#keep(node.anchor, { kind: "map", offset, entries });
    }
    return { kind: "scalar", offset, text: "", isPlain: true, tag: undefined };
  }

  #keep(anchor: string | undefined, node: YamlNode): YamlNode {
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    return node;
  }

  #resolve(anchor: string, offset: number): YamlNode {
    const node = this.#anchors.get(anchor);
    if (node !== undefined) return node;
    const { line, column } = this.position(offset);
    const problem = this.#anchors.has(anchor)
      ? `anchor '${anchor}' value contains itself`
      : `unknown anchor '${anchor}' referenced`;
    throw new CodedError("invalidArgument", `decode error: line ${line}: ${problem}`, {
      details: { line, column, source: sourceLine(this.source, line) },
    });
  }

  #entries(pairs: readonly MapPair[], depth: number): readonly MapEntry[] {
    const own: MapEntry[] = [];
    const merged: MapEntry[] = [];
    for (const pair of pairs) {
      const keyNode = this.compose(pair.key, depth);
      const value = this.compose(pair.value, depth);
      if (keyNode.kind !== "scalar") throw this.#error(keyNode.offset, "a key is not a text");
      if (keyNode.isPlain && keyNode.text === "<<") merged.push(...this.#mergedEntries(value));
      else own.push({ key: keyNode.text, keyOffset: keyNode.offset, value });
    }
    if (merged.length === 0) return own;
    // A key of its own beats a merged one, an earlier merged one beats a later.
    const seen = new Set(own.map(({ key }) => key));
    for (const entry of merged) {
      if (!seen.has(entry.key)) own.push(entry);
      seen.add(entry.key);
    }
    return own;
  }

  #mergedEntries(value: YamlNode): readonly MapEntry[] {
    if (value.kind === "map") return value.entries;
    if (value.kind === "seq" && value.items.length <= MAX_DEPTH) {
      return value.items.flatMap((item) => item.kind === "map" ? item.entries : []);
    }
    throw this.#error(value.offset, "map merge requires map or sequence of maps as the value");
  }

  #error(offset: number, problem: string): CodedError {
    const { line, column } = this.position(offset);
    return new CodedError("invalidArgument", `decode error: line ${line}: ${problem}`, {
      details: { line, column, source: sourceLine(this.source, line) },
    });
  }
}

interface MapPair {
  readonly key: Node | null;
  readonly value: Node | null;
}

function tagOf(node: Node): string | undefined {
  const tag = node.tag;
  return tag === undefined || tag === "!" ? undefined : tag.replace("tag:yaml.org,2002:", "!!");
}
