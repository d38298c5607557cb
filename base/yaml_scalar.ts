// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Scalars of YAML as go-yaml v4 writes them, character for character: what a reader would take for
 * another type, which style a text allows, and the quotes, escapes and breaks of each style.
 *
 * Clients compare and print this text.
 *
 * @module
 */

/** How a string is written, if its text allows it. */
export type ScalarStyle = "plain" | "single" | "double" | "literal";

const LINE_BREAK = /[\n\r\u0085\u2028\u2029]/;
const TAB_OR_SPECIAL = /[^\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;
const SPECIAL = /[^\t\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;
const SPACE_BEFORE_BREAK = / [\n\r\u0085\u2028\u2029]/;
const SPACE_AFTER_BREAK = /[\n\r\u0085\u2028\u2029] /;
/** Words that older versions of YAML read as booleans, and the merge key. */
const OLD_BOOLEAN = /^(?:[yYnN]|yes|Yes|YES|on|On|ON|no|No|NO|off|Off|OFF|<<)$/;
const BASE_60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/;

const NOT_WHITE_SPACE =
  /[^\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const RESOLVED_WORD =
  /^(?:true|True|TRUE|false|False|FALSE|~|null|Null|NULL|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)|-0|-0\.0|<<)$/;
/** A letter that begins no word of the above, nor a number, and nothing that needs quotes. */
const SURELY_PLAIN = /^(?![nNtTfF])[A-Za-z/_][A-Za-z0-9/_.@=+-]*$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const POINT_FLOAT = /^\.[0-9]+(?:[eE][-+]?[0-9]+)?$/;
const INTEGER =
  /^([-+]?)(?:(0|[1-9][0-9]*)|0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]([0-7]+)|0([0-7]+))$/;
const TIMESTAMP =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[-+](\d{2}):(\d{2}))| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?)?$/;

function isTimestamp(text: string): boolean {
  const parts = TIMESTAMP.exec(text);
  if (parts === null) return false;
  const at = (index: number): number => Number(parts[index] ?? 0);
  const [year, month, day] = [at(1), at(2), at(3)];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1];
  if (days === undefined || day < 1 || day > days) return false;
  const [hour, minute, second] = parts[4] === undefined
    ? [at(9), at(10), at(11)]
    : [at(4), at(5), at(6)];
  return hour <= 23 && minute <= 59 && second <= 59 && at(7) <= 24 && at(8) <= 60;
}

function isInteger(text: string): boolean {
  const parts = INTEGER.exec(text);
  if (parts === null) return false;
  const [, sign = "", decimal, hex, binary, octal, oldOctal] = parts;
  const value = decimal !== undefined
    ? BigInt(decimal)
    : hex !== undefined
    ? BigInt(`0x${hex}`)
    : binary !== undefined
    ? BigInt(`0b${binary}`)
    : BigInt(`0o${octal ?? oldOctal ?? "0"}`);
  const limit = sign === "" ? 2n ** 64n - 1n : sign === "-" ? 2n ** 63n : 2n ** 63n - 1n;
  return value <= limit;
}

/** Whether a reader would take the bare text for something else than a string. */
function isReadAsOtherType(text: string): boolean {
  if (text === "") return true;
  if (!/^[-+0-9.yYnNtTfFoO~<]/.test(text)) return false;
  if (RESOLVED_WORD.test(text)) return true;
  if (text.startsWith(".")) return POINT_FLOAT.test(text) && Number.isFinite(Number(text));
  if (!/^[-+0-9]/.test(text)) return false;
  if (isTimestamp(text)) return true;
  const digits = text.replaceAll("_", "");
  return isInteger(digits) || (FLOAT.test(digits) && Number.isFinite(Number(digits)));
}

/** Whether a string needs no second look: most values do not, base64 is among them. */
export function isSurelyPlain(text: string): boolean {
  return text.length > 4 && SURELY_PLAIN.test(text);
}

/**
 * The style that the writer wants for a string of a program.
 *
 * @param oldWords For what only a reader of YAML 1.1 takes for another type, such as `yes` or `1:30`:
 *   releases of the writer differ.
 */
export function valueStyle(text: string, oldWords: "single" | "double"): ScalarStyle {
  if (text.includes("\n")) {
    // A lone line feed is one byte, everything longer has at least two.
    return text.length > 1 && NOT_WHITE_SPACE.test(text) ? "literal" : "double";
  }
  if (OLD_BOOLEAN.test(text) || BASE_60.test(text)) return oldWords;
  return isReadAsOtherType(text) ? "double" : "plain";
}

/** The style that the writer wants for a string that its owner has made a node of. */
export function nodeStyle(text: string): ScalarStyle {
  if (isReadAsOtherType(text)) return "double";
  return text.includes("\n") ? "literal" : "plain";
}

function allowsPlain(text: string): boolean {
  return !(
    text.startsWith(" ") || text.endsWith(" ") || LINE_BREAK.test(text) ||
    TAB_OR_SPECIAL.test(text) || text.startsWith("---") || text.startsWith("...") ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) || /^[?:-](?:[ \t]|$)/.test(text) ||
    /.:(?:[ \t]|$)/su.test(text) || /[ \t]#/.test(text)
  );
}

function allowsSingle(text: string): boolean {
  return !(
    TAB_OR_SPECIAL.test(text) || SPACE_BEFORE_BREAK.test(text) || SPACE_AFTER_BREAK.test(text)
  );
}

function allowsLiteral(text: string): boolean {
  return !(
    text === "" || text.endsWith(" ") || SPACE_BEFORE_BREAK.test(text) || SPECIAL.test(text)
  );
}

function finalStyle(text: string, wanted: ScalarStyle): ScalarStyle {
  let style = wanted;
  if (style === "plain" && !allowsPlain(text)) style = "single";
  if (style === "single" && !allowsSingle(text)) style = "double";
  if (style === "literal" && !allowsLiteral(text)) style = "double";
  return style;
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
  "\u0085": "\\N",
  "\u2028": "\\L",
  "\u2029": "\\P",
};

function escapeCharacter(char: string): string {
  const short = ESCAPES[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, "0")}`;
  if (code <= 0xffff) return `\\u${hex.padStart(4, "0")}`;
  return `\\U${hex.padStart(8, "0")}`;
}

function writeDouble(text: string): string {
  // The client's writer escapes everything once it has seen a byte order mark at the start.
  const all = text.startsWith("\ufeff");
  const escaped = text.replace(
    all ? /./gsu : /["\\\u2028\u2029]|[^\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/gu,
    escapeCharacter,
  );
  return `"${escaped}"`;
}

function writeSingle(text: string, bodyIndent: number): string {
  const body = text.replaceAll("'", "''").replace(
    /([\n\r\u0085\u2028\u2029]+)( *)(?=([^ ])?)/g,
    (_, breaks: string, spaces: string, next: string | undefined) =>
      (breaks.startsWith("\n") ? "\n" : "") + breaks + spaces +
      (next === undefined ? "" : " ".repeat(bodyIndent)),
  );
  return `'${body}'`;
}

function writeLiteral(text: string, bodyIndent: number): string {
  const last = text.at(-1) ?? "";
  const beforeLast = text.at(-2);
  const chomp = !LINE_BREAK.test(last)
    ? "-"
    : beforeLast === undefined || LINE_BREAK.test(beforeLast)
    ? "+"
    : "";
  const body = text.replace(
    /(^|[\n\r\u0085\u2028\u2029])(?=[^\n\r\u0085\u2028\u2029])/g,
    `$1${" ".repeat(bodyIndent)}`,
  );
  return `|${text.startsWith(" ") ? "4" : ""}${chomp}\n${body}${chomp === "-" ? "\n" : ""}`;
}

/** Text of a scalar and whether it ends its last line itself. */
export interface WrittenScalar {
  readonly text: string;
  readonly endsLine: boolean;
}

/**
 * Writes a string in the style that is wanted, or the next one that its text allows.
 *
 * @param bodyIndent Spaces before each further line of a scalar of several lines.
 */
export function writeScalar(text: string, wanted: ScalarStyle, bodyIndent: number): WrittenScalar {
  switch (finalStyle(text, wanted)) {
    case "plain":
      return { text, endsLine: false };
    case "single":
      return { text: writeSingle(text, bodyIndent), endsLine: false };
    case "double":
      return { text: writeDouble(text), endsLine: false };
    case "literal":
      return { text: writeLiteral(text, bodyIndent), endsLine: true };
  }
}

/** Whether a mapping key needs a line of its own: several lines, or more than 128 bytes. */
export function needsExplicitKey(key: string): boolean {
  return LINE_BREAK.test(key) || new TextEncoder().encode(key).length > 128;
}

/**
 * Writes a floating-point number in the shortest form that reads back the same.
 *
 * @param largest The first power of ten that is written as an exponent; the first small one is -5.
 */
export function writeFloat(value: number, largest: number): string {
  if (Number.isNaN(value)) return ".nan";
  if (!Number.isFinite(value)) return value > 0 ? ".inf" : "-.inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  const [digits = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < largest) return String(value);
  const size = String(Math.abs(exponent)).padStart(2, "0");
  return `${digits}e${exponent < 0 ? "-" : "+"}${size}`;
}
