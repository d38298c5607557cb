// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Declares keys of a document: one declaration reads a key, checks it and describes it.
 *
 * Reading never stops at the first violation; each is reported with its path, value and rule, and an
 * unknown key with the known key that is nearest to it.
 *
 * @module
 */

import { REDACTED } from "../../base/redact.ts";

/** One thing wrong with a document. */
export interface Violation {
  /** Keys from the root, joined by dots; items of a list as `[0]`. */
  readonly path: string;
  /** The value as it stands in the document; {@linkcode REDACTED} for a secret. */
  readonly value: unknown;
  /** What must hold, to be read after the path. */
  readonly rule: string;
}

/** Takes note of a violation. */
export type Report = (violation: Violation) => void;

/** One line of the description of all keys. */
export interface KeyDescription {
  readonly path: string;
  readonly syntax: string;
  /** The default as text; "required" and "none" where there is none. */
  readonly fallback: string;
  readonly doc: string;
}

/** Reads one value of a document. */
export interface Schema<T> {
  /** Returns `undefined` for a value that is absent or was reported. */
  readonly read: (value: unknown, path: string, report: Report) => T | undefined;
  readonly describe: (path: string) => readonly KeyDescription[];
}

/** What a valid value of a schema is. */
export type ValueOf<S> = S extends Schema<infer T> ? T : never;

/** A parsed value, or the rule that the value breaks. */
export type Parsed<T> = { readonly ok: T } | { readonly rule: string };

/** Options of {@linkcode key}. */
export interface KeyOptions<T> {
  /** How a value looks, for people. */
  readonly syntax: string;
  readonly doc: string;
  /** Keeps the value out of messages. */
  readonly secret?: boolean;
  readonly parse: (value: unknown) => Parsed<T>;
}

function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

function readKey<T>(options: KeyOptions<T>, value: unknown, path: string, report: Report) {
  const parsed = options.parse(value);
  if ("ok" in parsed) return parsed.ok;
  report({ path, value: options.secret === true ? REDACTED : value, rule: parsed.rule });
  return undefined;
}

/** A key with a default, given as it would stand in the document. */
export function key<T>(options: KeyOptions<T> & { readonly fallback: unknown }): Schema<T> {
  const { fallback, syntax, doc } = options;
  return {
    read: (value, path, report) =>
      readKey(options, isAbsent(value) ? fallback : value, path, report),
    describe: (path) => [{ path, syntax, doc, fallback: JSON.stringify(fallback) }],
  };
}

/** A key that must be there. */
export function requiredKey<T>(options: KeyOptions<T>): Schema<T> {
  const { syntax, doc } = options;
  return {
    read(value, path, report) {
      if (!isAbsent(value)) return readKey(options, value, path, report);
      report({ path, value: undefined, rule: "is required" });
      return undefined;
    },
    describe: (path) => [{ path, syntax, doc, fallback: "required" }],
  };
}

/** A key that may be left out. */
export function optionalKey<T>(options: KeyOptions<T>): Schema<T | undefined> {
  const { syntax, doc } = options;
  return {
    read: (value, path, report) =>
      isAbsent(value) ? undefined : readKey(options, value, path, report),
    describe: (path) => [{ path, syntax, doc, fallback: "none" }],
  };
}

type SectionValue<F> = { readonly [K in keyof F]: ValueOf<F[K]> };

/** Keys that another product or an earlier design has, and what to write instead. */
export type Replacements = Readonly<Record<string, string>>;

/** A mapping with known keys. */
export function section<F extends Readonly<Record<string, Schema<unknown>>>>(
  fields: F,
  replacements: Replacements = {},
): Schema<SectionValue<F>> {
  const names = Object.keys(fields);
  return {
    read(value, path, report) {
      const source = isAbsent(value) ? {} : value;
      if (typeof source !== "object" || Array.isArray(source)) {
        report({ path, value, rule: "must be a mapping" });
        return undefined;
      }
      for (const [name, unknown] of Object.entries(source)) {
        if (Object.hasOwn(fields, name)) continue;
        const instead = replacements[name] ?? nearest(name, names);
        const hint = instead === undefined
          ? `known keys are ${names.join(", ")}`
          : `did you mean "${instead}"?`;
        // The value of an unknown key may be a misplaced secret.
        const shown = typeof unknown === "object" ? undefined : REDACTED;
        report({ path: join(path, name), value: shown, rule: `is not a known key: ${hint}` });
      }
      const entries = Object.entries(fields).map(([name, schema]) => {
        const field = Object.hasOwn(source, name)
          ? (source as Record<string, unknown>)[name]
          : undefined;
        return [name, schema.read(field, join(path, name), report)];
      });
      // Complete once nothing was reported, which the caller checks before it trusts the value.
      return Object.fromEntries(entries) as SectionValue<F>;
    },
    describe: (path) =>
      Object.entries(fields).flatMap(([name, schema]) => schema.describe(join(path, name))),
  };
}

/** A list of mappings or of plain values; empty when left out. */
export function list<T>(item: Schema<T>): Schema<readonly T[]> {
  return {
    read(value, path, report) {
      if (isAbsent(value)) return [];
      if (!Array.isArray(value)) {
        report({ path, value, rule: "must be a list" });
        return undefined;
      }
      const items = value.map((entry, index) => item.read(entry, `${path}[${index}]`, report));
      return items.filter((entry) => entry !== undefined);
    },
    // A list may be left out, so that none of its plain values must be there.
    describe: (path) =>
      item.describe(`${path}[]`).map((each) =>
        each.path === `${path}[]` && each.fallback === "required"
          ? { ...each, fallback: "none" }
          : each
      ),
  };
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

/** The known name that is nearest to a mistyped one, or `undefined` when none is near. */
function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // Half of the letters wrong is no longer a slip of the keyboard.
  let bestDistance = Math.max(2, Math.ceil(name.length / 2));
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const change = left[row - 1] === right[column - 1] ? 0 : 1;
      current.push(Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + change,
      ));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}
