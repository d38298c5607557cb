// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The JSONPath of print columns: members, indexes, `[*]`, `[:]` and filters by equality.
 *
 * @module
 */

type Step =
  | { readonly kind: "member"; readonly name: string }
  | { readonly kind: "index"; readonly index: number }
  | { readonly kind: "all" }
  | { readonly kind: "filter"; readonly name: string; readonly value: string };

const STEP =
  /^(?:\.([^.[\]{}]+)|\['([^']*)'\]|\[(-?\d+)\]|\[(?:\*|:)\]|\[\?\(@\.([^=]+)==["']([^"']*)["']\)\])/;

function parsePath(path: string): readonly Step[] | undefined {
  let rest = path.trim().replace(/^\{/, "").replace(/\}$/, "").replace(/^[$@]/, "");
  const steps: Step[] = [];
  while (rest !== "") {
    const found = STEP.exec(rest);
    if (found === null) return undefined;
    const [whole, dotted, quoted, index, filterName, filterValue] = found;
    const name = dotted ?? quoted;
    if (name !== undefined) steps.push({ kind: "member", name });
    else if (index !== undefined) steps.push({ kind: "index", index: Number(index) });
    else if (filterName !== undefined) {
      steps.push({ kind: "filter", name: filterName, value: filterValue ?? "" });
    } else steps.push({ kind: "all" });
    rest = rest.slice(whole.length);
  }
  return steps;
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

function take(values: readonly unknown[], step: Step): readonly unknown[] {
  switch (step.kind) {
    case "member":
      return values.map((value) => member(value, step.name));
    case "index":
      return values.map((value) => Array.isArray(value) ? value.at(step.index) : undefined);
    case "all":
      return values.flatMap((value) => Array.isArray(value) ? value : []);
    case "filter":
      return values.flatMap((value) => Array.isArray(value) ? value : [])
        .filter((item) => String(member(item, step.name)) === step.value);
  }
}

function show(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(show).join(",");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The text of what a path leads to; empty for what is not there or a path that cannot be read. */
export function valueAt(value: unknown, path: string): string {
  const steps = parsePath(path);
  if (steps === undefined) return "";
  return steps.reduce<readonly unknown[]>(take, [value]).map(show).join(",");
}
