// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of Kubernetes for names, labels, annotations and taints.
 *
 * @module
 */

const LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);
const NAME = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const MAX_SUBDOMAIN_LENGTH = 253;
const MAX_NAME_LENGTH = 63;
const MAX_ANNOTATION_BYTES = 256 << 10;
const RESERVED_ANNOTATION = "talos.dev/owned-annotations";
const TAINT_EFFECTS = new Set(["NoSchedule", "PreferNoSchedule", "NoExecute"]);

/** Why a text is no DNS subdomain, or `undefined`. */
export function subdomainProblem(value: string): string | undefined {
  if (value.length > MAX_SUBDOMAIN_LENGTH) {
    return `domain name length exceeds limit of ${MAX_SUBDOMAIN_LENGTH}: ${JSON.stringify(value)}`;
  }
  return SUBDOMAIN.test(value)
    ? undefined
    : `domain doesn't match required format: ${JSON.stringify(value)}`;
}

/** Why a text is no name with an optional prefix, or `undefined`. */
export function qualifiedNameProblem(value: string): string | undefined {
  const quoted = JSON.stringify(value);
  const parts = value.split("/");
  if (parts.length > 2) return `invalid format: too many slashes: ${quoted}`;
  const name = parts.at(-1) ?? "";
  if (parts.length === 2) {
    const prefix = parts[0] ?? "";
    if (prefix === "") return `prefix cannot be empty: ${quoted}`;
    const problem = subdomainProblem(prefix);
    if (problem !== undefined) return `prefix ${JSON.stringify(prefix)} is invalid: ${problem}`;
  }
  if (name === "") return `name cannot be empty: ${quoted}`;
  if (name.length > MAX_NAME_LENGTH) return `name is too long: ${quoted} (limit is 63)`;
  return NAME.test(name) ? undefined : `name ${JSON.stringify(name)} is invalid`;
}

function labelValueProblem(value: string): string | undefined {
  const quoted = JSON.stringify(value);
  if (value.length > MAX_NAME_LENGTH) return `label value length exceeds limit of 63: ${quoted}`;
  return value === "" || NAME.test(value) ? undefined : `label value ${quoted} is invalid`;
}

type Entries = readonly (readonly [string, unknown])[];

/** Everything that is wrong with labels. */
export function labelProblems(labels: Entries): string[] {
  return sorted(labels).flatMap(([key, value]) =>
    [qualifiedNameProblem(key), labelValueProblem(String(value))].filter((text) =>
      text !== undefined
    )
  );
}

/** Everything that is wrong with annotations. */
export function annotationProblems(annotations: Entries): string[] {
  let size = 0;
  const problems = sorted(annotations).flatMap(([key, value]) => {
    size += key.length + String(value).length;
    // Keys of annotations are compared without regard to case.
    const problem = qualifiedNameProblem(key.toLowerCase());
    if (problem !== undefined) return [problem];
    return key === RESERVED_ANNOTATION ? [`annotation ${JSON.stringify(key)} is reserved`] : [];
  });
  return size > MAX_ANNOTATION_BYTES
    ? [...problems, `total annotation size exceeds limit of ${MAX_ANNOTATION_BYTES} bytes`]
    : problems;
}

/** Everything that is wrong with taints, whose values are `[value:]effect`. */
export function taintProblems(taints: Entries): string[] {
  return sorted(taints).flatMap(([key, taint]) => {
    const text = String(taint);
    const colon = text.indexOf(":");
    const [value, effect] = colon === -1
      ? ["", text]
      : [text.slice(0, colon), text.slice(colon + 1)];
    return [
      qualifiedNameProblem(key),
      labelValueProblem(value),
      TAINT_EFFECTS.has(effect) ? undefined : `invalid taint effect: ${JSON.stringify(effect)}`,
    ].filter((problem) => problem !== undefined);
  });
}

function sorted(entries: Entries): Entries {
  return [...entries].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
}
