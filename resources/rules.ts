// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the rules of user types are made of: a change is looked at as a whole, and every field that
 * breaks a rule is named at once.
 *
 * @module
 */

import type { DescMessage } from "@bufbuild/protobuf";
import { CodedError } from "../base/errors.ts";
import type { Metadata, Validator } from "../cosi/resource.ts";

/** What a validator looks at. */
export type Change<S extends DescMessage> = Parameters<Validator<S>>[0];

/** Notes that a field breaks a rule. A value is shown unless it is left out. */
export type Refuse = (field: string, rule: string, value?: unknown) => void;

/** A rule of a type: it looks at a change and notes what is wrong. */
export type Rule<S extends DescMessage> = (change: Change<S>, refuse: Refuse) => void;

/**
 * Runs rules and refuses the change when they noted anything.
 *
 * @throws CodedError `invalidArgument` with all that was noted.
 */
export function applyRules<C extends { readonly verb: string; readonly metadata: Metadata }>(
  change: C,
  rules: readonly ((change: C, refuse: Refuse) => void)[],
): void {
  const problems: string[] = [];
  const refuse: Refuse = (field, rule, value) => {
    const current = value === undefined ? "" : `: current value is ${JSON.stringify(value)}`;
    problems.push(`${field} ${rule}${current}`);
  };
  for (const rule of rules) rule(change, refuse);
  if (problems.length === 0) return;
  const { verb, metadata } = change;
  throw new CodedError(
    "invalidArgument",
    `Cannot ${verb} ${metadata.type} "${metadata.id}": ${problems.join("; ")}`,
    { details: { problems } },
  );
}

/** Makes a validator of rules. */
export function validatorOf<S extends DescMessage>(...rules: readonly Rule<S>[]): Validator<S> {
  return (change) => applyRules(change, rules);
}

/** Limits a rule to changes that bring content, as opposed to removals. */
export function onWrite<S extends DescMessage>(rule: Rule<S>): Rule<S> {
  return (change, refuse) => {
    if (change.verb === "create" || change.verb === "update") rule(change, refuse);
  };
}

/** Limits a rule to removals. */
export function onRemoval<S extends DescMessage>(rule: Rule<S>): Rule<S> {
  return (change, refuse) => {
    if (change.verb === "teardown" || change.verb === "destroy") rule(change, refuse);
  };
}

/** A label that must be there with a value. */
export function requireLabel({ labels }: Metadata, name: string, refuse: Refuse): void {
  if (Object.hasOwn(labels, name) && labels[name] !== "") return;
  refuse(`metadata.labels["${name}"]`, "is required");
}

/** Labels that must stay as they were when the resource was created. */
export function fixedLabels<S extends DescMessage>(...names: readonly string[]): Rule<S> {
  return ({ metadata, stored }, refuse) => {
    if (stored === undefined) return;
    for (const name of names) {
      const [before, after] = [stored.metadata.labels[name], metadata.labels[name]];
      if (before === after) continue;
      refuse(`metadata.labels["${name}"]`, `must stay ${JSON.stringify(before ?? null)}`, after);
    }
  };
}

/** An ID that must be a machine's UUID in lower case. */
export function requireMachineId<S extends DescMessage>(): Rule<S> {
  return onWrite(({ metadata }, refuse) => {
    if (/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(metadata.id)) return;
    refuse("metadata.id", "must be a machine's UUID in lower case", metadata.id);
  });
}

/** Refuses every change of a type that is declared but has no effect yet. */
export function unsupported<S extends DescMessage>(reason: string): Validator<S> {
  return validatorOf((_, refuse) => refuse("the type", reason));
}

/** The parts of a version that rules compare. */
export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

/** Reads a semantic version without a leading `v`, or returns `undefined`. */
export function parseVersion(text: string): Version | undefined {
  const parts = /^(\d+)\.(\d+)(?:\.(\d+))?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (parts === null) return undefined;
  return { major: Number(parts[1]), minor: Number(parts[2]), patch: Number(parts[3] ?? 0) };
}

/** The message in a field that differs from the stored one, by a comparison of texts. */
export function hasChanged(before: unknown, after: unknown): boolean {
  return stable(before) !== stable(after);
}

function stable(value: unknown): string {
  return JSON.stringify(value, (_, item) => typeof item === "bigint" ? String(item) : item) ?? "";
}
