// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The template of an installer's image reference.
 *
 * The syntax is the part of Go's `text/template` that such a reference needs: five fields, written
 * `.Host` or `$.Host`, string and boolean constants, `if`, `else if`, `else`, the functions `not`,
 * `and`, `or`, `eq` and `ne`, comments and trim markers. Everything else is refused.
 *
 * @module
 */

import type { Parsed } from "./schema.ts";

/** What a reference is made of. */
export interface InstallerFields {
  /** Host of the image factory. */
  readonly Host: string;
  readonly Platform: string;
  readonly SecureBoot: boolean;
  /** ID of the machine's schematic. */
  readonly Schematic: string;
  /** Version as offered to users, without `v`. */
  readonly Version: string;
}

/** Renders the reference of an installer's image. */
export type InstallerTemplate = (fields: InstallerFields) => string;

type Value = string | boolean;
type Expression = (fields: InstallerFields) => Value;
type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "action"; readonly words: readonly string[] };

const FIELDS = ["Host", "Platform", "SecureBoot", "Schematic", "Version"] as const;

/** Ends parsing; the message is the rule that the template breaks. */
class TemplateError extends Error {}

function tokenize(template: string): Token[] {
  const tokens: Token[] = [];
  let rest = template;
  while (rest !== "") {
    const open = rest.indexOf("{{");
    if (open < 0) {
      tokens.push({ kind: "text", text: rest });
      break;
    }
    let text = rest.slice(0, open);
    const close = findClose(rest, open + 2);
    let action = rest.slice(open + 2, close);
    rest = rest.slice(close + 2);
    if (/^-[ \t\r\n]/.test(action)) {
      text = text.trimEnd();
      action = action.slice(1);
    }
    if (/[ \t\r\n]-$/.test(action)) {
      rest = rest.trimStart();
      action = action.slice(0, -1);
    }
    tokens.push({ kind: "text", text });
    if (!/^\/\*.*\*\/$/s.test(action.trim())) {
      tokens.push({ kind: "action", words: splitWords(action.trim()) });
    }
  }
  return tokens;
}

function findClose(text: string, from: number): number {
  const inside = /"(?:[^"\\\n]|\\.)*"|`[^`]*`|\/\*.*?\*\/|\}\}/gs;
  inside.lastIndex = from;
  for (let found = inside.exec(text); found !== null; found = inside.exec(text)) {
    if (found[0] === "}}") return found.index;
  }
  throw new TemplateError('has an action without its closing "}}"');
}

function splitWords(action: string): string[] {
  const words = action.match(/"(?:[^"\\\n]|\\.)*"|`[^`]*`|[()]|[^\s()"`]+|["`]/g) ?? [];
  if (words.length === 0) throw new TemplateError('has an empty action "{{}}"');
  return words;
}

/** Reads one operand from the front of `words`. */
function takeOperand(words: string[]): Expression {
  const word = words.shift();
  if (word === undefined) throw new TemplateError("has an incomplete action");
  if (word === "(") {
    const inner = takeExpression(words);
    if (words.shift() !== ")") throw new TemplateError('has a "(" without its ")"');
    return inner;
  }
  const field = FIELDS.find((name) => word === `.${name}` || word === `$.${name}`);
  if (field !== undefined) return (fields) => fields[field];
  if (word === "true" || word === "false") return () => word === "true";
  if (/^`.*`$/s.test(word)) return () => word.slice(1, -1);
  if (/^".*"$/.test(word)) {
    const constant = parseConstant(word);
    return () => constant;
  }
  throw new TemplateError(
    `refers to "${word}"; the only fields are ${FIELDS.map((name) => `.${name}`).join(", ")}`,
  );
}

function parseConstant(word: string): string {
  try {
    return String(JSON.parse(word));
  } catch {
    throw new TemplateError(`has the constant ${word}, which is no JSON text`);
  }
}

/** Reads a call or a single operand, up to a closing parenthesis or the end. */
function takeExpression(words: string[]): Expression {
  const name = words[0];
  if (name === undefined || !["not", "and", "or", "eq", "ne"].includes(name)) {
    return takeOperand(words);
  }
  words.shift();
  const operands: Expression[] = [];
  while (words.length > 0 && words[0] !== ")") operands.push(takeOperand(words));
  const [first, second] = operands;
  const wanted = name === "not" ? 1 : 2;
  if (first === undefined || operands.length < wanted || (name === "not" && second !== undefined)) {
    throw new TemplateError(`calls "${name}" with ${operands.length} values`);
  }
  return (fields) => call(name, operands.map((operand) => operand(fields)));
}

function call(name: string, values: readonly Value[]): Value {
  const [first = "", ...others] = values;
  switch (name) {
    case "not":
      return !first;
    case "and":
      return values.find((value) => !value) ?? others.at(-1) ?? first;
    case "or":
      return values.find((value) => value) ?? others.at(-1) ?? first;
    case "eq":
      return others.some((other) => other === first);
    default:
      return !others.some((other) => other === first);
  }
}

function parseWhole(words: readonly string[]): Expression {
  const rest = [...words];
  const expression = takeExpression(rest);
  if (rest.length > 0) throw new TemplateError(`does not support "${rest.join(" ")}" in an action`);
  return expression;
}

/** Reads up to the end of the template or of the branch, and returns what ended it. */
function parseBranch(
  tokens: Token[],
  inside: boolean,
): { readonly render: InstallerTemplate; readonly end: readonly string[] } {
  const parts: InstallerTemplate[] = [];
  const render: InstallerTemplate = (fields) => parts.map((part) => part(fields)).join("");
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (token.kind === "text") {
      const { text } = token;
      parts.push(() => text);
      continue;
    }
    const [word, ...rest] = token.words;
    if (word === "if") parts.push(parseIf(tokens, rest));
    else if (word === "end" || word === "else") {
      if (!inside) throw new TemplateError(`has an "${word}" without its "if"`);
      return { render, end: token.words };
    } else {
      const expression = parseWhole(token.words);
      parts.push((fields) => String(expression(fields)));
    }
  }
  if (inside) throw new TemplateError('has an "if" without its "end"');
  return { render, end: [] };
}

function parseIf(tokens: Token[], words: readonly string[]): InstallerTemplate {
  const condition = parseWhole(words);
  const { render: then, end } = parseBranch(tokens, true);
  if (end[0] === "end") return (fields) => condition(fields) ? then(fields) : "";
  const otherwise = end[1] === "if"
    ? parseIf(tokens, end.slice(2))
    : parseElse(tokens, end.slice(1));
  return (fields) => condition(fields) ? then(fields) : otherwise(fields);
}

function parseElse(tokens: Token[], rest: readonly string[]): InstallerTemplate {
  if (rest.length > 0) throw new TemplateError(`does not support "else ${rest.join(" ")}"`);
  const { render, end } = parseBranch(tokens, true);
  if (end[0] !== "end") throw new TemplateError('has two "else" in one "if"');
  return render;
}

/** Reads a template; an empty one means that there is none. */
export function parseInstallerTemplate(value: unknown): Parsed<InstallerTemplate | undefined> {
  if (value === "") return { ok: undefined };
  if (typeof value !== "string") return { rule: "must be a text" };
  try {
    return { ok: parseBranch(tokenize(value), false).render };
  } catch (error) {
    if (error instanceof TemplateError) return { rule: error.message };
    throw error;
  }
}
