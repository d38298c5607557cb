// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { defineResource, type ResourceType } from "../cosi/resource.ts";
import {
  type Catalogues,
  checkCatalogues,
  type ControllerOutline,
  findPutTypes,
} from "./check_catalogue.ts";

function type(name: string, options: { written?: boolean; aliases?: string[] } = {}): ResourceType {
  return defineResource({
    type: `${name}.example.org`,
    namespace: "default",
    schema: EmptySchema,
    access: options.written === true ? { validate: () => {} } : "readOnly",
    display: { aliases: options.aliases ?? [] },
  });
}

const INPUT = type("Inputs", { written: true });
const OUTPUT = type("Outputs");

function controller(name: string, output: ResourceType, input = INPUT): ControllerOutline {
  return { name, primary: input, mapped: [], output: { type: output } };
}

/** Checks catalogues in which everything is right but what the test changes. */
function messagesOf(change: Partial<Catalogues>): string[] {
  return checkCatalogues({
    types: [INPUT, OUTPUT],
    controllers: [controller("a.Controller", OUTPUT)],
    served: new Set(),
    unwritten: new Set(),
    ...change,
  }).map(({ message }) => message);
}

Deno.test("checkCatalogues() accepts types with one writer each", () => {
  deepStrictEqual(messagesOf({}), []);
  deepStrictEqual(messagesOf({ controllers: [], served: new Set([OUTPUT.type]) }), []);
  deepStrictEqual(messagesOf({ controllers: [], unwritten: new Set([OUTPUT.type]) }), []);
});

Deno.test("checkCatalogues() refuses a type that is declared twice", () => {
  deepStrictEqual(messagesOf({ types: [INPUT, OUTPUT, OUTPUT] }), [
    '"outputs.example.org" names two resource types',
  ]);
});

Deno.test("checkCatalogues() refuses an alias of two types", () => {
  const first = type("Firsts", { written: true, aliases: ["f"] });
  const second = type("Seconds", { written: true, aliases: ["f", "s"] });
  deepStrictEqual(messagesOf({ types: [INPUT, OUTPUT, first, second] }), [
    '"f" names two resource types',
  ]);
});

Deno.test("checkCatalogues() refuses two controllers of one name, and two writers of one type", () => {
  const twice = [controller("a.Controller", OUTPUT), controller("a.Controller", OUTPUT)];
  deepStrictEqual(messagesOf({ controllers: twice }), [
    '"a.Controller" names two controllers',
    '"Outputs.example.org" has several writers: a.Controller, a.Controller',
  ]);
});

Deno.test("checkCatalogues() refuses inputs and outputs that are not catalogued", () => {
  const stray = type("Strays");
  const controllers = [
    controller("a.Controller", OUTPUT, stray),
    controller("b.Controller", stray),
  ];
  deepStrictEqual(messagesOf({ controllers }), [
    '"a.Controller" declares "Strays.example.org", which is not in resources/catalogue.ts',
    '"b.Controller" declares "Strays.example.org", which is not in resources/catalogue.ts',
  ]);
});

Deno.test("checkCatalogues() refuses a type that nothing writes", () => {
  deepStrictEqual(messagesOf({ controllers: [] }), ['nothing writes "Outputs.example.org"']);
});

Deno.test("checkCatalogues() refuses lists that are not true", () => {
  deepStrictEqual(messagesOf({ unwritten: new Set([OUTPUT.type, "Gone.example.org"]) }), [
    '"Outputs.example.org" is written: remove it from UNWRITTEN',
    '"Gone.example.org" is listed but not declared',
  ]);
});

Deno.test("findPutTypes() finds what a source writes", () => {
  const source = [
    'import { Config as Identity } from "../resources/link/config.ts";',
    'import { Link } from "../resources/link/link.ts";',
    'import { Machine } from "../resources/machine/machine.ts";',
    "await putResource(state, Identity, { id });",
    "await createResource(",
    "  options.state,",
    "  Link,",
    "await findResource(state, Machine, id);",
  ].join("\n");
  deepStrictEqual(findPutTypes(source), [
    { module: "../resources/link/config.ts", exported: "Config" },
    { module: "../resources/link/link.ts", exported: "Link" },
  ]);
});
