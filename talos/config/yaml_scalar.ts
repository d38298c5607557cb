// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How Talos's YAML writer (go-yaml v4) prints scalars and orders keys.
 *
 * Configurations that it printed are compared with ours line by line, so the quoting follows it to
 * the letter: plain where a reader would get the same string back, else single quotes, else double.
 *
 * @module
 */

const ODD_BOOLEANS = new Set(
  "y Y yes Yes YES on On ON n N no No NO off Off OFF <<".split(" "),
);
const OTHER_WORDS = new Set(
  (
    "true True TRUE false False FALSE ~ null Null NULL .nan .NaN .NAN .inf .Inf .INF " +
    "+.inf +.Inf +.INF -.inf -.Inf -.INF -0 -0.0 <<"
  ).split(" "),
);
const BASE60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;
const INTEGER = /^[-+]?(?:0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const TIMESTAMP =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d)))|(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?))?$/;
const PLAIN_ONLY = /^[A-Za-z/_][A-Za-z0-9/_.@=+-]*$/;
// The characters that must be escaped; among the line breaks these are CR and NEL.
const SPECIAL =
  // deno-lint-ignore no-control-regex -- YAML's own set
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]/;
const BREAK = /[\n\r\x85\u2028\u2029]/;
const SPACE_BREAK = / [\n\r\x85\u2028\u2029]/;
const BREAK_SPACE = /[\n\r\x85\u2028\u2029] /;

type Style = "plain" | "single" | "double" | "literal";

/**
 * Prints a string.
 *
 * @param bodyIndent Spaces in front of the lines of a block scalar.
 */
export function writeString(text: string, bodyIndent: number): string {
  // Most values need no second look: the fast path covers base64 as well.
  if (text.length > 4 && PLAIN_ONLY.test(text) && !readsAsOther(text)) return text;
  return writeInStyle(
    text,
    chooseStyle(text, ODD_BOOLEANS.has(text) || BASE60.test(text)),
    bodyIndent,
  );
}

/** Prints a string that its owner has made a node of: only what would be read as another type is quoted. */
export function writeNodeString(text: string, bodyIndent: number): string {
  return writeInStyle(text, chooseStyle(text, false), bodyIndent);
}

function writeInStyle(text: string, style: Style, bodyIndent: number): string {
  if (style === "plain") return text;
  if (style === "single") return writeSingle(text, bodyIndent);
  return style === "double" ? writeDouble(text) : writeLiteral(text, bodyIndent);
}

/** Whether a key must be printed behind a question mark: it is long, or has line breaks. */
export function isExplicitKey(key: string): boolean {
  if (BREAK.test(key)) return true;
  return key.length > 42 && new TextEncoder().encode(key).length > 128;
}

/** Prints a number in the form of Go's encoder. */
export function writeNumber(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 63) return BigInt(value).toString();
  if (Number.isNaN(value)) return ".nan";
  if (!Number.isFinite(value)) return value > 0 ? ".inf" : "-.inf";
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  // Go prints the shortest form, for which the exponent begins at a million, whatever the digits.
  if (power >= -4 && power < (Number.isInteger(value) ? 21 : 6)) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function chooseStyle(text: string, isOdd: boolean): Style {
  let style: Style = "plain";
  if (text.includes("\n")) style = text.length > 1 && /\S/.test(text) ? "literal" : "double";
  else if (isOdd) style = "single";
  else if (readsAsOther(text)) style = "double";
  if (style === "plain" && !mayBePlain(text)) style = "single";
  if (style === "single" && !mayBeSingle(text)) style = "double";
  if (style === "literal" && !mayBeLiteral(text)) style = "double";
  return style;
}

function readsAsOther(text: string): boolean {
  if (text === "") return true;
  if (!/^[-+0-9.yYnNtTfFoO~<]/.test(text)) return false;
  if (OTHER_WORDS.has(text)) return true;
  if (text.startsWith(".")) {
    return /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/.test(text) && Number.isFinite(Number(text));
  }
  if (!/^[-+0-9]/.test(text)) return false;
  if (isTimestamp(text)) return true;
  const digits = text.replaceAll("_", "");
  if (INTEGER.test(digits) && fits64Bit(digits)) return true;
  return FLOAT.test(digits) && Number.isFinite(Number(digits));
}

function fits64Bit(text: string): boolean {
  const signed = /^[-+]/.test(text);
  const body = signed ? text.slice(1) : text;
  const octal = /^0[0-7]+$/.test(body) ? `0o${body.slice(1)}` : body.toLowerCase();
  const magnitude = BigInt(octal);
  if (text.startsWith("-")) return magnitude <= 1n << 63n;
  return magnitude < 1n << (signed ? 63n : 64n);
}

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, ...rest] = match.slice(1).map((part) => Number(part ?? 0));
  const [h1 = 0, m1 = 0, s1 = 0, zoneH = 0, zoneM = 0, h2 = 0, m2 = 0, s2 = 0] = rest;
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  return month >= 1 && month <= 12 && date.getUTCMonth() === month - 1 &&
    date.getUTCDate() === day && Math.max(h1, h2) <= 23 && Math.max(m1, m2) <= 59 &&
    Math.max(s1, s2) <= 59 && zoneH <= 24 && zoneM <= 60;
}

function mayBePlain(text: string): boolean {
  return !(
    text.startsWith(" ") || text.endsWith(" ") || text.includes("\t") || BREAK.test(text) ||
    SPECIAL.test(text) || text.startsWith("---") || text.startsWith("...") ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[?:-](?:[ \t]|$)/.test(text) ||
    /.:(?:[ \t]|$)/.test(text) || /[ \t]#/.test(text)
  );
}

function mayBeSingle(text: string): boolean {
  return !(
    text.includes("\t") || SPECIAL.test(text) || SPACE_BREAK.test(text) ||
    BREAK_SPACE.test(text)
  );
}

function mayBeLiteral(text: string): boolean {
  return !(
    text === "" || text.endsWith(" ") || SPACE_BREAK.test(text) || SPECIAL.test(text)
  );
}

function writeSingle(text: string, bodyIndent: number): string {
  const quoted = text.replaceAll("'", "''");
  if (!BREAK.test(quoted)) return `'${quoted}'`;
  const folded = quoted.replace(
    /([\n\r\x85\u2028\u2029]+)([^\n\r\x85\u2028\u2029]?)/g,
    (_, breaks: string, next: string) =>
      (breaks.startsWith("\n") ? "\n" : "") + breaks +
      (next === "" ? "" : " ".repeat(bodyIndent) + next),
  );
  return `'${folded}'`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  '"': '\\"',
  "\\": "\\\\",
  "\x85": "\\N",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function writeDouble(text: string): string {
  const all = text.startsWith("\ufeff");
  let out = '"';
  for (const char of text) {
    const known = ESCAPES[char];
    const code = char.codePointAt(0) ?? 0;
    if (known !== undefined) out += known;
    else if (all || code > 0xffff || SPECIAL.test(char)) out += escapeCode(code);
    else out += char;
  }
  return out + '"';
}

function escapeCode(code: number): string {
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
}

function writeLiteral(text: string, bodyIndent: number): string {
  let header = text.startsWith(" ") ? "|4" : "|";
  if (!BREAK.test(text.slice(-1))) header += "-";
  else if (text.length === 1 || BREAK.test(text.slice(-2, -1))) header += "+";
  const pad = " ".repeat(bodyIndent);
  const body = text.replace(/(^|[\n\r\x85\u2028\u2029])(?=[^\n\r\x85\u2028\u2029])/g, `$1${pad}`);
  // The line break after the last line belongs to whoever writes the next line.
  return `${header}\n${body}`.replace(/\n$/, "");
}

const LETTER = /\p{L}/u;
const DIGIT = /\p{Nd}/u;

/** The order of map keys: letters by code point, runs of digits by their number. */
export function compareKeys(left: string, right: string): number {
  if (left === right) return 0;
  const a = Array.from(left);
  const b = Array.from(right);
  let afterDigit = false;
  for (let i = 0; i < a.length && i < b.length; i++) {
    const x = a[i] ?? "";
    const y = b[i] ?? "";
    if (x === y) {
      afterDigit = DIGIT.test(x);
      continue;
    }
    const xLetter = LETTER.test(x);
    const yLetter = LETTER.test(y);
    if (xLetter && yLetter) return codeOf(x) - codeOf(y);
    if (xLetter || yLetter) return (afterDigit ? xLetter : yLetter) ? -1 : 1;
    return compareDigitRuns(a, b, i);
  }
  return a.length - b.length;
}

function compareDigitRuns(a: readonly string[], b: readonly string[], at: number): number {
  let start = 0;
  if (a[at] === "0" || b[at] === "0") {
    for (let i = at - 1; i >= 0 && DIGIT.test(a[i] ?? ""); i--) {
      if (a[i] !== "0") {
        start = 1;
        break;
      }
    }
  }
  const [x, xEnd] = readDigits(a, at, start);
  const [y, yEnd] = readDigits(b, at, start);
  if (x !== y) return x < y ? -1 : 1;
  if (xEnd !== yEnd) return xEnd - yEnd;
  return codeOf(a[at] ?? "") - codeOf(b[at] ?? "");
}

function readDigits(runes: readonly string[], at: number, start: number): [bigint, number] {
  let value = BigInt(start);
  let end = at;
  for (; end < runes.length && /[0-9]/.test(runes[end] ?? ""); end++) {
    value = value * 10n + BigInt(runes[end] ?? "0");
  }
  return [value, end];
}

function codeOf(rune: string): number {
  return rune.codePointAt(0) ?? 0;
}
