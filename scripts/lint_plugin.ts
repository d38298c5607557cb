// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The lint rules of this project, as a plugin of `deno lint`.
 *
 * Each rule holds for all code but what its docstring leaves out. A line that has to break one
 * says so: `// deno-lint-ignore batuta/no-sleep -- the reason`.
 *
 * @module
 */

import { basename, relative } from "node:path";
import { isTest, ROOT } from "./tree.ts";

type Context = Deno.lint.RuleContext;
type Visitor = Deno.lint.LintVisitor;

const LICENSE_LINE = "// SPDX-License-Identifier: AGPL-3.0-or-later";

/** Words that say nothing about what a thing is. */
const EMPTY_WORDS = [
  "Manager",
  "Helper",
  "Util",
  "Utils",
  "Processor",
  "Base",
  "Impl",
  "Info",
  "Data",
];

/** File names that collect what belongs elsewhere. */
const EMPTY_FILES = ["utils", "util", "common", "helpers", "types", "index", "misc", "constants"];

/** Folders that speak gRPC, where a service is a service. */
const GRPC_FOLDERS = ["rpc/", "server/", "cosi/", "link/", "talos/", "lab/"];

/** Where text for people is printed. */
const PRINTING = ["cli/", "scripts/", "main.ts", "base/log.ts"];

/** Packages whose import is their use. */
const SIDE_EFFECT_PACKAGES = ["reflect-metadata"];

/** The most lines of a function, without those of the functions inside it. */
const MAX_FUNCTION_LINES = 70;

function pathOf(context: Context): string {
  return relative(ROOT, context.filename);
}

function isUnder(path: string, folders: readonly string[]): boolean {
  return folders.some((folder) => folder.endsWith("/") ? path.startsWith(folder) : path === folder);
}

/** Reports what concerns the whole file at its first line, instead of quoting all of it. */
function reportFile(context: Context, message: string): void {
  const end = context.sourceCode.text.indexOf("\n");
  context.report({ range: [0, end < 0 ? context.sourceCode.text.length : end], message });
}

/** Every source names its licence in its first line. */
function licenseLine(context: Context): Visitor {
  return {
    Program() {
      if (context.sourceCode.text.startsWith(`${LICENSE_LINE}\n`)) return;
      reportFile(context, `The first line must be "${LICENSE_LINE}"`);
    },
  };
}

/** Every module but tests says what it is for, in a docstring with `@module`. */
function moduleDocstring(context: Context): Visitor {
  if (isTest(pathOf(context))) return {};
  return {
    Program() {
      if (/\/\*\*(?:(?!\*\/)[\s\S])*@module/.test(context.sourceCode.text)) return;
      reportFile(context, 'A docstring that ends with "@module" must open the module');
    },
  };
}

/** Only what talks to a person prints; everything else takes a logger. Tests may print. */
function noConsole(context: Context): Visitor {
  const path = pathOf(context);
  if (isTest(path) || isUnder(path, PRINTING)) return {};
  return {
    MemberExpression(node) {
      if (node.object.type !== "Identifier" || node.object.name !== "console") return;
      context.report({ node, message: "Take a Logger instead of printing" });
    },
  };
}

/** What a module exports stands in that module. */
function noStarExport(context: Context): Visitor {
  return {
    ExportAllDeclaration(node) {
      context.report({ node, message: "Import the defining file instead of a barrel" });
    },
  };
}

/** A module does nothing when it is loaded. */
function noSideEffectImport(context: Context): Visitor {
  return {
    ImportDeclaration(node) {
      const text = context.sourceCode.getText(node);
      if (!/^import\s*["']/.test(text)) return;
      if (SIDE_EFFECT_PACKAGES.includes(node.source.value)) return;
      context.report({ node, message: "Import names: a module has no effect by being loaded" });
    },
  };
}

/** Files are snake_case, named after what they define; resources have the names of the contract. */
function fileName(context: Context): Visitor {
  const name = basename(context.filename, ".ts");
  const words = pathOf(context).startsWith("resources/") ? [] : EMPTY_WORDS;
  return {
    Program() {
      const stem = name.replace(/_test$/, "");
      const word = words.find((empty) => stem.endsWith(`_${empty.toLowerCase()}`));
      if (!/^[a-z0-9]+(?:_[a-z0-9]+)*$/.test(name)) {
        reportFile(context, `File name "${name}.ts" is not snake_case`);
      } else if (EMPTY_FILES.includes(stem)) {
        reportFile(context, `File name "${name}.ts" does not say what it defines`);
      } else if (word !== undefined) {
        reportFile(context, `"${word}" in the file name says nothing: name the thing`);
      }
    },
  };
}

/** Types are named after what they are; "Service" is a word of gRPC. */
function typeName(context: Context): Visitor {
  const words = isUnder(pathOf(context), GRPC_FOLDERS) || isTest(pathOf(context))
    ? EMPTY_WORDS
    : [...EMPTY_WORDS, "Service"];
  const check = (node: Deno.lint.Node, name: string): void => {
    const word = words.find((word) => name.endsWith(word) && name !== word);
    if (word === undefined) return;
    context.report({ node, message: `"${word}" in "${name}" says nothing: name the thing` });
  };
  return {
    ClassDeclaration(node) {
      if (node.id !== null) check(node.id, node.id.name);
    },
    TSInterfaceDeclaration(node) {
      check(node.id, node.id.name);
    },
    TSTypeAliasDeclaration(node) {
      check(node.id, node.id.name);
    },
  };
}

/** Classes extend errors and what a package or the platform demands, never each other. */
function noHierarchy(context: Context): Visitor {
  const ours = new Set<string>();
  const check = (node: Deno.lint.ClassDeclaration | Deno.lint.ClassExpression): void => {
    if (node.abstract) {
      context.report({ node, message: "Use a union instead of an abstract class" });
    }
    const parent = node.superClass;
    if (parent?.type !== "Identifier" || !ours.has(parent.name)) return;
    if (parent.name.endsWith("Error")) return;
    context.report({ node: parent, message: `Compose instead of extending "${parent.name}"` });
  };
  return {
    // Names are collected first: a class may stand before the one it extends.
    Program(node) {
      for (const statement of node.body) {
        const declaration = statement.type === "ExportNamedDeclaration"
          ? statement.declaration
          : statement;
        if (declaration?.type === "ClassDeclaration" && declaration.id !== null) {
          ours.add(declaration.id.name);
        }
        if (declaration?.type === "ImportDeclaration" && declaration.source.value.startsWith(".")) {
          for (const { local } of declaration.specifiers) ours.add(local.name);
        }
      }
    },
    ClassDeclaration: check,
    ClassExpression: check,
  };
}

/** Tests wait on state with a deadline, not on the clock. */
function noSleep(context: Context): Visitor {
  if (!isTest(pathOf(context))) return {};
  const message = "Wait on state with a deadline: AbortSignal.timeout() bounds a wait";
  return {
    CallExpression(node) {
      const { callee } = node;
      const name = callee.type === "Identifier"
        ? callee.name
        : callee.type === "MemberExpression" && callee.object.type === "Identifier" &&
            callee.object.name === "globalThis" && callee.property.type === "Identifier"
        ? callee.property.name
        : "";
      if (["setTimeout", "delay", "sleep"].includes(name)) context.report({ node, message });
    },
    ImportDeclaration(node) {
      if (node.source.value === "node:timers/promises") context.report({ node, message });
    },
  };
}

/** A function of a module is a declaration: it has a name, a place for a docstring, and hoists. */
function functionDeclaration(context: Context): Visitor {
  if (isTest(pathOf(context))) return {};
  return {
    Program(node) {
      for (const statement of node.body) {
        const declaration = statement.type === "ExportNamedDeclaration"
          ? statement.declaration
          : statement;
        if (declaration?.type !== "VariableDeclaration") continue;
        for (const { id, init } of declaration.declarations) {
          const arrow = init?.type === "ArrowFunctionExpression" ||
            init?.type === "FunctionExpression";
          // A type on the name is what an expression can have and a declaration cannot.
          if (!arrow || id.type !== "Identifier" || id.typeAnnotation !== undefined) continue;
          context.report({ node: id, message: `Declare "${id.name}" with "function"` });
        }
      }
    },
  };
}

type FunctionNode =
  | Deno.lint.FunctionDeclaration
  | Deno.lint.FunctionExpression
  | Deno.lint.ArrowFunctionExpression;

/** Functions fit a screen; what their inner functions take does not count. Tests are tables. */
function functionLength(context: Context): Visitor {
  if (isTest(pathOf(context))) return {};
  const open: { readonly node: FunctionNode; inner: number }[] = [];
  const { text } = context.sourceCode;
  const enter = (node: FunctionNode): void => void open.push({ node, inner: 0 });
  const exit = (node: FunctionNode): void => {
    const inner = open.pop()?.inner ?? 0;
    const lines = text.slice(...node.range).split("\n").length;
    const outer = open.at(-1);
    // The line a function starts on and the one it ends on belong to what holds it.
    if (outer !== undefined) outer.inner += Math.max(0, lines - 2);
    const own = lines - inner;
    if (own <= MAX_FUNCTION_LINES) return;
    context.report({
      node,
      message: `Function of ${own} lines, the most is ${MAX_FUNCTION_LINES}`,
    });
  };
  return {
    FunctionDeclaration: enter,
    "FunctionDeclaration:exit": exit,
    FunctionExpression: enter,
    "FunctionExpression:exit": exit,
    ArrowFunctionExpression: enter,
    "ArrowFunctionExpression:exit": exit,
  };
}

/** Unfinished work names its issue, and an exception from a rule its reason. */
function commentForm(context: Context): Visitor {
  return {
    Program() {
      for (const comment of context.sourceCode.getAllComments()) {
        const text = comment.value;
        if (/\b(?:TODO|FIXME|XXX)\b(?!\(#\d+\): )/.test(text)) {
          context.report({ range: comment.range, message: 'Write "TODO(#123): what remains"' });
        }
        if (/^\s*deno-lint-ignore\b(?!.*? -- \S)/.test(text)) {
          context.report({ range: comment.range, message: 'Give the reason: "… -- reason"' });
        }
      }
    },
  };
}

const plugin: Deno.lint.Plugin = {
  name: "batuta",
  rules: {
    "comment-form": { create: commentForm },
    "file-name": { create: fileName },
    "function-declaration": { create: functionDeclaration },
    "function-length": { create: functionLength },
    "license-line": { create: licenseLine },
    "module-docstring": { create: moduleDocstring },
    "no-console": { create: noConsole },
    "no-hierarchy": { create: noHierarchy },
    "no-side-effect-import": { create: noSideEffectImport },
    "no-sleep": { create: noSleep },
    "no-star-export": { create: noStarExport },
    "type-name": { create: typeName },
  },
};

export default plugin;
