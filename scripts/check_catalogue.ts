// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks the catalogues of resource types and of controllers against each other.
 *
 * Names are unique, every input and output is a catalogued type, a type has one writer, and every
 * type has one: a controller, clients over the API, or the server itself. What nothing writes yet
 * stands in {@linkcode UNWRITTEN}, and leaves it when something does. What the server writes is read
 * off its calls of `putResource` and `createResource`.
 *
 * @module
 */

import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import type { ResourceType } from "../cosi/resource.ts";
import { CATALOGUE } from "../resources/catalogue.ts";
import { TALOS_MIRROR_NAMESPACE } from "../resources/namespaces.ts";
import { Controller } from "../resources/system/controller.ts";
import { ControllerWait } from "../resources/system/controller_wait.ts";
import { declareControllers } from "./declared_controllers.ts";
import { type Finding, isTest, listFiles, reportFindings, ROOT } from "./tree.ts";
import { UNWRITTEN } from "./unwritten_types.ts";

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
const LIST_FILE = "scripts/unwritten_types.ts";

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
      report(LIST_FILE, `"${type}" is written: remove it from UNWRITTEN`);
    }
  }
  const known = new Set(types.map(({ type }) => type));
  for (const type of unwritten) {
    if (!known.has(type)) report(LIST_FILE, `"${type}" is listed but not declared`);
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

/** Finds the local names of imported resource modules that a source passes to `putResource` or `createResource`. */
export function findPutTypes(
  source: string,
): { readonly module: string; readonly exported: string }[] {
  const found: { readonly module: string; readonly exported: string }[] = [];
  const imports = /^import \{([^}]*)\} from "([^"]*\/resources\/[^"]+)";/gm;
  for (const [, names, module] of source.matchAll(imports)) {
    for (const name of names?.split(",") ?? []) {
      const [exported, local = exported] = name.trim().split(" as ");
      if (exported === undefined || module === undefined) continue;
      const put = new RegExp(`\\b(?:create|put)Resource\\(\\s*[\\w.]+,\\s*${local},`);
      if (put.test(source)) found.push({ module, exported });
    }
  }
  return found;
}

/** Loads the types that the server writes itself. */
async function readServedTypes(): Promise<ResourceType[]> {
  const types = CATALOGUE.filter(({ namespace }) => namespace === TALOS_MIRROR_NAMESPACE);
  // The engine shows itself in these.
  types.push(Controller, ControllerWait);
  for (const file of listFiles().filter((file) => /^server\/.*\.ts$/.test(file) && !isTest(file))) {
    for (const { module, exported } of findPutTypes(await Deno.readTextFile(join(ROOT, file)))) {
      const loaded = await import(pathToFileURL(join(ROOT, dirname(file), module)).href);
      types.push(loaded[exported]);
    }
  }
  return types;
}

if (import.meta.main) {
  const findings = checkCatalogues({
    types: CATALOGUE,
    controllers: declareControllers(),
    served: new Set((await readServedTypes()).map(({ type }) => type)),
    unwritten: new Set(UNWRITTEN),
  });
  Deno.exit(reportFindings("check_catalogue", findings));
}
