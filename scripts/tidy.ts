// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks what no compiler sees: sizes, licence lines, dead modules, stray words and dead links.
 *
 * @module
 */

import { dirname, join, normalize } from "node:path";
import { type Edge, readEdges } from "./check_imports.ts";
import {
  type Finding,
  isGenerated,
  isTest,
  listFiles,
  readFiles,
  reportFindings,
  ROOT,
} from "./tree.ts";

/** The most lines of a source; beyond them a file has a second purpose. */
const MAX_LINES = 400;

/** Sources that may be longer, each with the reason. */
const LONG_FILES: ReadonlyMap<string, string> = new Map<string, string>([]);

/** Modules whose exports are the words of a contract, declared in full whether used or not. */
const VOCABULARIES: readonly string[] = ["resources/labels.ts"];

const AGPL = "SPDX-License-Identifier: AGPL-3.0-or-later";
const MPL = "SPDX-License-Identifier: MPL-2.0";
const MPL_NOTICE = "This Source Code Form is subject to the terms of the Mozilla Public";

/** Text that a reader elsewhere could make nothing of, or that ties the project to one place. */
const STRAY_TEXT: readonly (readonly [RegExp, string])[] = [
  [/(?<![\w.:/$}])\/(?:home|root|Users|work)\/[\w.]/, "a path of one machine"],
  [
    /\b(?:registry\.npmjs\.org|proxy\.golang\.org|pypi\.org|jsr\.io|deb\.debian\.org)\b/,
    "the host of a package registry",
  ],
];

/** Modules that tests use and the program does not. */
function isTestSupport(file: string): boolean {
  return isTest(file) || /(?:^|\/)test_\w+\.ts$/.test(file) ||
    /(?:^|\/)(?:testing|conformance|fixture)(?:_\w+)?(?:\.ts|\/)/.test(file);
}

/** Finds sources that are too long, and exceptions that are no longer needed. */
export function findLongFiles(
  sources: ReadonlyMap<string, string>,
  exceptions: ReadonlyMap<string, string> = LONG_FILES,
): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    if (!file.endsWith(".ts") || isGenerated(file)) continue;
    const lines = text.split("\n").length - 1;
    if (lines > MAX_LINES && !exceptions.has(file)) {
      findings.push({ file, message: `has ${lines} lines, the most is ${MAX_LINES}: split it` });
    }
    if (lines <= MAX_LINES && exceptions.has(file)) {
      findings.push({ file, message: "needs no exception from the size limit: remove it" });
    }
  }
  return findings;
}

/** Finds sources without the licence of their place: MPL in `proto/`, AGPL everywhere else. */
export function findMissingLicenses(sources: ReadonlyMap<string, string>): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    if (!/\.(?:ts|go|proto|sh)$/.test(file) && !text.startsWith("#!")) continue;
    const head = text.split("\n", text.startsWith("#!") ? 2 : 1).join("\n");
    const license = file.startsWith("proto/") ? MPL : AGPL;
    if (!head.includes(license)) {
      findings.push({ file, line: 1, message: `must begin with "${license}"` });
    } else if (license === MPL && !text.includes(MPL_NOTICE)) {
      findings.push({ file, line: 1, message: "lacks the notice of the MPL's Exhibit A" });
    }
  }
  return findings;
}

/** Finds text that does not belong into the project. */
export function findStrayText(sources: ReadonlyMap<string, string>): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    // The lock file names what it locks; this module and its test name what they look for.
    if (
      file === "deno.lock" || file.endsWith("go.sum") || /^scripts\/tidy(_test)?\.ts$/.test(file)
    ) {
      continue;
    }
    text.split("\n").forEach((line, index) => {
      for (const [pattern, what] of STRAY_TEXT) {
        const found = line.match(pattern)?.[0];
        if (found === undefined) continue;
        findings.push({ file, line: index + 1, message: `"${found}" is ${what}` });
      }
    });
  }
  return findings;
}

/** Finds links and file names in the documentation that lead nowhere. */
export function findDeadLinks(
  sources: ReadonlyMap<string, string>,
  files: ReadonlySet<string>,
): Finding[] {
  const folders = new Set<string>();
  for (const file of files) {
    for (let folder = dirname(file); folder !== "."; folder = dirname(folder)) folders.add(folder);
  }
  const exists = (path: string): boolean => {
    const plain = normalize(path).replace(/\/$/, "");
    return plain === "." || files.has(plain) || folders.has(plain);
  };
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    if (!file.endsWith(".md")) continue;
    text.split("\n").forEach((line, index) => {
      const report = (target: string): void =>
        void findings.push({ file, line: index + 1, message: `"${target}" does not exist` });
      for (const [, target] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
        if (target === undefined || /^[a-z]+:|^#/.test(target)) continue;
        if (!exists(join(dirname(file), target.replace(/#.*/, "")))) report(target);
      }
      // A file of ours named in the text: its first folder exists, so the rest has to.
      for (const [, name] of line.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|md|proto|json))`/g)) {
        if (name === undefined || !folders.has(name.slice(0, name.indexOf("/")))) continue;
        if (!exists(name)) report(name);
      }
    });
  }
  return findings;
}

/** Modules that another one starts by its URL, as workers are. */
function urlEdges(sources: ReadonlyMap<string, string>): [from: string, to: string][] {
  const edges: [string, string][] = [];
  for (const [file, text] of sources) {
    if (!file.endsWith(".ts")) continue;
    for (const [, target] of text.matchAll(/new URL\(\s*"(\.[^"]+\.ts)",\s*import\.meta\.url/g)) {
      if (target !== undefined) edges.push([file, join(dirname(file), target)]);
    }
  }
  return edges;
}

/** Whether both ends of the program are there; without them nothing can be said about its use. */
function isWhole(sources: ReadonlyMap<string, string>): boolean {
  return sources.has("main.ts") && sources.has("server/serve.ts");
}

/**
 * Finds exports that nothing uses: their name stands once in their own module, and in no module that
 * imports it. A use by tests alone does not count.
 */
export function findDeadExports(
  sources: ReadonlyMap<string, string>,
  edges: readonly Pick<Edge, "from" | "to">[],
): Finding[] {
  if (!isWhole(sources)) return [];
  const importers = new Map<string, string[]>();
  for (const { from, to } of edges) {
    if (!from.endsWith("_test.ts")) {
      importers.set(to, [...importers.get(to) ?? [], sources.get(from) ?? ""]);
    }
  }
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    if (!file.endsWith(".ts") || isGenerated(file) || isTestSupport(file)) continue;
    // The linter loads its plugin itself.
    if (file === "scripts/lint_plugin.ts" || VOCABULARIES.includes(file)) continue;
    const declarations =
      /^export (?:declare )?(?:async )?(?:function\*?|const|class|interface|type) (\w+)/gm;
    for (const [, name] of text.matchAll(declarations)) {
      const word = new RegExp(`\\b${name}\\b`);
      const code = text.replace(/\/\*\*[\s\S]*?\*\//g, "");
      if (code.split(word).length > 2) continue;
      if (importers.get(file)?.some((importer) => word.test(importer))) continue;
      findings.push({ file, message: `nothing uses "${name}": use it or delete it` });
    }
  }
  return findings;
}

/**
 * Finds modules that neither the program, nor a script, nor a test that crosses folders reaches.
 *
 * A module that only its own test uses is dead too: the test keeps alive what nobody needs.
 */
export function findDeadModules(
  sources: ReadonlyMap<string, string>,
  edges: readonly Pick<Edge, "from" | "to">[],
): Finding[] {
  const modules = [...sources.keys()].filter((file) => file.endsWith(".ts") && !isGenerated(file));
  if (!isWhole(sources)) return [];
  const next = new Map<string, string[]>();
  for (const [from, to] of [...edges.map(({ from, to }) => [from, to]), ...urlEdges(sources)]) {
    if (from !== undefined && to !== undefined) next.set(from, [...next.get(from) ?? [], to]);
  }
  const isEntry = (file: string): boolean =>
    file === "main.ts" || isTestSupport(file) && !file.endsWith("_test.ts") ||
    file.startsWith("tests/") || file.startsWith("scripts/");
  const reached = new Set<string>();
  const pending = modules.filter(isEntry);
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    pending.push(...next.get(file) ?? []);
  }
  return modules
    .filter((file) => !reached.has(file) && !file.endsWith("_test.ts"))
    .map((file) => ({ file, message: "nothing uses this module: use it or delete it" }));
}

/** Runs every check of this module over a repository. */
export async function tidy(root: string): Promise<Finding[]> {
  const files = listFiles(root);
  const text = files.filter((file) =>
    /\.(?:ts|go|proto|sh|md|json|jsonc|ya?ml|mod|txt|out)$/.test(file) || file === ".ci/run"
  );
  const sources = readFiles(text, root);
  const edges = await readEdges(files.filter((file) => file.endsWith(".ts")), root);
  return [
    ...findLongFiles(sources),
    ...findMissingLicenses(sources),
    ...findStrayText(sources),
    ...findDeadLinks(sources, new Set(files)),
    ...findDeadModules(sources, edges),
    ...findDeadExports(sources, edges),
  ];
}

if (import.meta.main) Deno.exit(reportFindings("tidy", await tidy(ROOT)));
