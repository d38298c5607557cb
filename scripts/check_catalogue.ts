// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks the catalogues of resource types and of controllers against each other.
 *
 * Names are unique, every input and output is a catalogued type, a type has one writer, and every
 * type has one: a controller, clients over the API, or the server itself. What nothing writes yet
 * stands in {@linkcode UNWRITTEN}, and leaves it when something does.
 *
 * @module
 */

import type { ResourceType } from "../cosi/resource.ts";
import { CATALOGUE } from "../resources/catalogue.ts";
import { type Finding, reportFindings, ROOT } from "./tree.ts";

/** What this check needs to know of a controller. */
export interface ControllerOutline {
  readonly name: string;
  readonly primary?: ResourceType;
  readonly mapped: readonly { readonly type: ResourceType }[];
  readonly output: { readonly type: ResourceType };
}

/** All that is checked against each other. */
export interface Catalogues {
  readonly types: readonly ResourceType[];
  readonly controllers: readonly ControllerOutline[];
  /** Types that the server writes at start or at admission. */
  readonly served: ReadonlySet<string>;
  /** Types of the contract that nothing writes yet. */
  readonly unwritten: ReadonlySet<string>;
}

const TYPES_FILE = "resources/catalogue.ts";
const CONTROLLERS_FILE = "controllers/catalogue.ts";
const LISTS_FILE = "scripts/check_catalogue.ts";

/** Types that the server writes itself. */
const SERVED: readonly string[] = [];

/** Types of the contract that are declared for its clients and that nothing writes yet. */
const UNWRITTEN: readonly string[] = [];

/** Finds every value that occurs more than once. */
function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))];
}

/** Finds names that are used twice, in each list where they have to be unique. */
export function findRepeatedNames({ types, controllers }: Catalogues): Finding[] {
  const names = (list: readonly ResourceType[]) =>
    // An alias may equal the name of its own type, never that of another one.
    list.flatMap(({ type, display }) => [...new Set([type.toLowerCase(), ...display.aliases])]);
  return [
    ...repeated(names(types)).map((name) => ({
      file: TYPES_FILE,
      message: `"${name}" names two resource types`,
    })),
    ...repeated(controllers.map(({ name }) => name)).map((name) => ({
      file: CONTROLLERS_FILE,
      message: `"${name}" names two controllers`,
    })),
  ];
}

/** Finds inputs and outputs of controllers that are not catalogued. */
export function findUnknownTypes({ types, controllers }: Catalogues): Finding[] {
  const known = new Set(types);
  const findings: Finding[] = [];
  for (const { name, primary, mapped, output } of controllers) {
    for (const type of [primary, ...mapped.map(({ type }) => type), output.type]) {
      if (type === undefined || known.has(type)) continue;
      findings.push({
        file: CONTROLLERS_FILE,
        message: `"${name}" declares "${type.type}", which is not in ${TYPES_FILE}`,
      });
    }
  }
  return findings;
}

/** Finds types with two writers, without any, and entries of the lists that are not true. */
export function findWriterFaults(
  { types, controllers, served, unwritten }: Catalogues,
): Finding[] {
  const writers = new Map<string, string[]>();
  for (const { name, output } of controllers) {
    writers.set(output.type.type, [...writers.get(output.type.type) ?? [], name]);
  }
  const findings: Finding[] = [];
  const report = (file: string, message: string): void => void findings.push({ file, message });
  for (const [type, names] of writers) {
    if (names.length > 1) {
      report(CONTROLLERS_FILE, `"${type}" has several writers: ${names.join(", ")}`);
    }
  }
  for (const { type, access } of types) {
    const written = writers.has(type) || served.has(type) || typeof access === "object";
    if (!written && !unwritten.has(type)) report(TYPES_FILE, `nothing writes "${type}"`);
    if (written && unwritten.has(type)) {
      report(LISTS_FILE, `"${type}" is written: remove it from UNWRITTEN`);
    }
  }
  const known = new Set(types.map(({ type }) => type));
  for (const type of [...served, ...unwritten]) {
    if (!known.has(type)) report(LISTS_FILE, `"${type}" is listed but not declared`);
  }
  return findings;
}

/** Runs every check of this module. */
export function checkCatalogues(catalogues: Catalogues): Finding[] {
  return [
    ...findRepeatedNames(catalogues),
    ...findUnknownTypes(catalogues),
    ...findWriterFaults(catalogues),
  ];
}

if (import.meta.main) {
  const catalogues: Catalogues = {
    types: CATALOGUE,
    controllers: [],
    served: new Set(SERVED),
    unwritten: new Set(CATALOGUE.map(({ type }) => type)),
  };
  void ROOT, UNWRITTEN;
  Deno.exit(reportFindings("check_catalogue", findRepeatedNames(catalogues)));
}
