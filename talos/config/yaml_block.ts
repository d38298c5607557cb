// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Reads plain block YAML directly: the form in which configurations are printed and most patches
 * are written. Whatever else YAML allows is left to the full parser, which is ten times slower.
 *
 * Understood are mappings with simple keys, sequences, scalars on one line (plain, or quoted without
 * escapes), literal blocks, empty flow collections and comment lines. At the first sign of anything
 * else the reader gives up, so that there is only one judge of what is wrong YAML.
 *
 * @module
 */

import type { MapEntry, ScalarNode, YamlNode, YamlRoot } from "./yaml_node.ts";

/** Thrown to give up; never leaves this module. */
const GIVE_UP = Symbol("not plain block YAML");

/** Characters that only the full parser knows how to treat: returns, unusual breaks, a byte mark. */
const UNUSUAL = /[\r\t\x85\u2028\u2029\ufeff]/;

const SEPARATOR = "---";

/** Nesting that is read here; deeper texts are left to the full parser. */
const MAX_DEPTH = 50;

/** A line with something on it. */
interface Line {
  /** Offset of its first character. */
  readonly start: number;
  readonly indent: number;
  /** The text without indentation and trailing spaces. */
  readonly text: string;
}

/** Reads a text, or returns `undefined` where it takes the full parser. */
export function parseBlockYaml(source: string): YamlRoot[] | undefined {
  if (UNUSUAL.test(source)) return undefined;
  try {
    return new BlockReader(source).readAll();
  } catch (error) {
    if (error === GIVE_UP) return undefined;
    throw error;
  }
}

class BlockReader {
  readonly #source: string;
  /** Offset from which the next line is read. */
  #next = 0;
  #line: Line | undefined;

  constructor(source: string) {
    this.#source = source;
    this.#advance();
  }

  readAll(): YamlRoot[] {
    const roots: YamlRoot[] = [];
    while (this.#line !== undefined) {
      let start = this.#line.start;
      if (this.#isSeparator()) {
        const after = start + SEPARATOR.length;
        this.#advance();
        if (this.#line === undefined || this.#isSeparator()) {
          roots.push({ node: emptyScalar(after), start });
          continue;
        }
      } else if (roots.length > 0) throw GIVE_UP;
      else start += this.#line.indent;
      if (this.#line.indent !== 0) throw GIVE_UP;
      roots.push({ node: this.#readBlock(0, 0), start });
      if (this.#line !== undefined && !this.#isSeparator()) throw GIVE_UP;
    }
    return roots;
  }

  #isSeparator(): boolean {
    return this.#line !== undefined && this.#line.indent === 0 && this.#line.text === SEPARATOR;
  }

  /** Goes to the next line that is neither blank nor a comment. */
  #advance(): void {
    const source = this.#source;
    while (this.#next < source.length) {
      const start = this.#next;
      let end = source.indexOf("\n", start);
      if (end === -1) end = source.length;
      this.#next = end + 1;
      let first = start;
      while (first < end && source.charCodeAt(first) === 0x20) first++;
      if (first === end || source.charCodeAt(first) === 0x23) continue;
      let last = end;
      while (source.charCodeAt(last - 1) === 0x20) last--;
      const text = source.slice(first, last);
      const indent = first - start;
      // Directives and markers that end documents are for the full parser.
      if (indent === 0 && /^(?:%|\.\.\.|---.)/.test(text)) throw GIVE_UP;
      if (text === SEPARATOR && last < end) throw GIVE_UP;
      this.#line = { start, indent, text };
      return;
    }
    this.#line = undefined;
  }

  /** Reads the mapping or sequence whose entries are indented by `indent`. */
  #readBlock(indent: number, depth: number): YamlNode {
    if (depth > MAX_DEPTH || this.#line === undefined) throw GIVE_UP;
    return isItem(this.#line.text)
      ? this.#readSequence(indent, depth)
      : this.#readMapping(indent, depth);
  }

  #readSequence(indent: number, depth: number): YamlNode {
    const items: YamlNode[] = [];
    const offset = (this.#line?.start ?? 0) + indent;
    while (this.#line !== undefined && this.#line.indent === indent && isItem(this.#line.text)) {
      const { start, text } = this.#line;
      const dash = start + indent;
      if (text === "-") {
        this.#advance();
        items.push(this.#readChild(indent, dash + 1, depth, false));
        continue;
      }
      const content = text.slice(2);
      if (content.startsWith(" ") || isItem(content)) throw GIVE_UP;
      if (findKey(content) === undefined) items.push(this.#readScalar(content, dash + 2, indent));
      else {
        // The mapping begins on the line of the dash: its first key stands two columns further.
        this.#line = { start, indent: indent + 2, text: content };
        items.push(this.#readMapping(indent + 2, depth + 1));
      }
    }
    this.#checkIndent(indent);
    return { kind: "seq", offset, items };
  }

  #readMapping(indent: number, depth: number): YamlNode {
    if (depth > MAX_DEPTH) throw GIVE_UP;
    const entries: MapEntry[] = [];
    const seen = new Set<string>();
    const offset = (this.#line?.start ?? 0) + indent;
    while (this.#line !== undefined && this.#line.indent === indent && !this.#isSeparator()) {
      const { start, text } = this.#line;
      const found = findKey(text);
      if (found === undefined || seen.has(found.key)) throw GIVE_UP;
      seen.add(found.key);
      const keyOffset = start + indent;
      const value = found.rest === ""
        ? this.#readEmptyOrChild(indent, keyOffset + found.end, depth)
        : this.#readScalar(found.rest, keyOffset + found.restAt, indent);
      entries.push({ key: found.key, keyOffset, value });
    }
    this.#checkIndent(indent);
    return { kind: "map", offset, entries };
  }

  /** A line that is indented more than its block, and belongs to no entry, is a mistake or a wrap. */
  #checkIndent(indent: number): void {
    if (this.#line !== undefined && this.#line.indent > indent) throw GIVE_UP;
  }

  #readEmptyOrChild(indent: number, after: number, depth: number): YamlNode {
    this.#advance();
    return this.#readChild(indent, after, depth, true);
  }

  /** The block below a key or a dash; nothing there is null. */
  #readChild(indent: number, after: number, depth: number, isBelowKey: boolean): YamlNode {
    // A space after the colon moves the place of an empty value: left to the full parser.
    if (this.#source.charCodeAt(after) === 0x20) throw GIVE_UP;
    const line = this.#line;
    if (line === undefined || this.#isSeparator()) return emptyScalar(after);
    if (line.indent > indent) return this.#readBlock(line.indent, depth + 1);
    const isFlush = isBelowKey && line.indent === indent && isItem(line.text);
    return isFlush ? this.#readSequence(indent, depth + 1) : emptyScalar(after);
  }

  #readScalar(text: string, offset: number, indent: number): YamlNode {
    if (text === "|" || text === "|-") return this.#readLiteral(text, offset, indent);
    this.#advance();
    if (this.#line !== undefined && this.#line.indent > indent && !this.#isSeparator()) {
      // The scalar may go on, or the text is wrong.
      throw GIVE_UP;
    }
    if (text === "[]") return { kind: "seq", offset, items: [] };
    if (text === "{}") return { kind: "map", offset, entries: [] };
    return readInlineScalar(text, offset);
  }

  #readLiteral(header: string, offset: number, indent: number): ScalarNode {
    const source = this.#source;
    const lines: string[] = [];
    let body = -1;
    while (this.#next < source.length) {
      let end = source.indexOf("\n", this.#next);
      if (end === -1) end = source.length;
      const line = source.slice(this.#next, end);
      const width = line.length - line.trimStart().length;
      if (width === line.length) {
        // Blank lines before the first line decide the indentation together with it.
        if (body === -1 || width > body) throw GIVE_UP;
        lines.push("");
      } else {
        if (body === -1) body = width;
        if (width < body) break;
        lines.push(line.slice(body));
      }
      this.#next = end + 1;
    }
    if (body <= indent) throw GIVE_UP;
    while (lines.at(-1) === "") lines.pop();
    this.#advance();
    const text = lines.join("\n") + (header === "|" ? "\n" : "");
    return { kind: "scalar", offset, text, isPlain: false, tag: undefined };
  }
}

function emptyScalar(offset: number): ScalarNode {
  return { kind: "scalar", offset, text: "", isPlain: true, tag: undefined };
}

function isItem(text: string): boolean {
  return text.charCodeAt(0) === 0x2d && (text.length === 1 || text.charCodeAt(1) === 0x20);
}

const PLAIN_KEY = /^([A-Za-z0-9_$/.][A-Za-z0-9_$/.@*-]*|-[A-Za-z0-9_$/.@*-]+):(?: +|$)/;
const QUOTED_KEY = /^(?:'([^'\\]*)'|"([^"\\]*)"):(?: +|$)/;

/** The key at the beginning of a line, and where its value begins. */
function findKey(
  text: string,
): { key: string; end: number; rest: string; restAt: number } | undefined {
  const plain = PLAIN_KEY.exec(text);
  const match = plain ?? QUOTED_KEY.exec(text);
  if (match === null) return undefined;
  const key = match[1] ?? match[2] ?? "";
  const restAt = match[0].length;
  const end = match[0].trimEnd().length;
  return { key, end, rest: text.slice(restAt), restAt };
}

/** First characters that mean something else than a plain scalar. */
const INDICATORS = new Set("!&*[]{}#|>@`%,?:\"'");

function readInlineScalar(text: string, offset: number): ScalarNode {
  const first = text[0] ?? "";
  if (first === "'") {
    if (!/^'(?:[^']|'')*'$/.test(text)) throw GIVE_UP;
    const inner = text.slice(1, -1).replaceAll("''", "'");
    return { kind: "scalar", offset, text: inner, isPlain: false, tag: undefined };
  }
  if (first === '"') {
    if (!/^"[^"\\]*"$/.test(text)) throw GIVE_UP;
    return { kind: "scalar", offset, text: text.slice(1, -1), isPlain: false, tag: undefined };
  }
  const isPlain = !INDICATORS.has(first) && !isItem(text) && !text.includes(": ") &&
    !text.includes(" #") && !text.endsWith(":");
  if (!isPlain) throw GIVE_UP;
  return { kind: "scalar", offset, text, isPlain: true, tag: undefined };
}
