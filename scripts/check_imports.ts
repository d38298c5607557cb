// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks the import table of the architecture on the module graph that Deno itself resolves.
 *
 * A module may import another when its folder has a row in {@linkcode RULES} that names the target,
 * or when both lie in the same folder. Type-only edges and dynamic imports are told apart, because
 * the table allows some edges in only one of these forms. Tests beside the code follow the row of
 * their folder, with the few additions of {@linkcode TEST_ADDITIONS}.
 *
 * @module
 */

import { relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Finding, isGenerated, isTest, listFiles, reportFindings, ROOT } from "./tree.ts";

/** How one module refers to another; a value edge needs the widest permission. */
export type EdgeKind = "value" | "type" | "dynamic";

/** One reference between two modules of the repository, or from one of them to a package. */
export interface Edge {
  readonly from: string;
  /** Path relative to the repository, or `npm:name` or `node:name`. */
  readonly to: string;
  readonly kind: EdgeKind;
  readonly line: number;
}

/** What a folder may import besides itself: path prefixes, or exact files. */
interface Rule {
  readonly any: readonly string[];
  readonly type?: readonly string[];
  readonly dynamic?: readonly string[];
}

/** Every folder of ours; the target list of a row that may import everything. */
const ALL = [
  "base/",
  "proto/gen/",
  "rpc/",
  "cosi/",
  "resources/",
  "controllers/",
  "link/",
  "talos/",
  "balancer/",
  "server/",
  "lab/",
  "cli/",
  "main.ts",
];

const ADAPTERS = ["link/", "talos/", "balancer/"];
const ADAPTER_RULE: Rule = { any: ["base/", "proto/gen/", "rpc/"] };

/** The import table; the first matching row counts. */
const RULES: readonly (readonly [from: string, rule: Rule])[] = [
  ["base/", { any: [] }],
  ["proto/gen/", { any: [] }],
  ["rpc/", { any: ["base/", "proto/gen/"] }],
  ["cosi/", { any: ["base/", "proto/gen/", "rpc/"] }],
  ["resources/", { any: ["base/", "cosi/resource.ts", "proto/gen/"] }],
  ...ADAPTERS.map((adapter) => [adapter, ADAPTER_RULE] as const),
  ["controllers/", {
    any: ["base/", "cosi/", "resources/", "proto/gen/", "talos/config/"],
    type: ADAPTERS,
  }],
  ["lab/", { any: ["base/", "proto/gen/", "rpc/", "link/", "talos/"] }],
  ["server/", { any: ALL.filter((target) => target !== "cli/" && target !== "lab/") }],
  ["cli/", {
    // The lab carries its example cluster as text.
    any: [
      "base/",
      "rpc/",
      "cosi/resource.ts",
      "cosi/state/",
      "resources/",
      "proto/gen/",
      "docs/examples/",
    ],
    // A document is checked before anything of the server is loaded; configurations of machines and
    // keys of a stopped state are worked on without a server.
    dynamic: [
      "server/config/",
      "server/serve.ts",
      "lab/",
      "talos/config/",
      "cosi/store/rotate_key.ts",
    ],
  }],
  // The entry point picks a subcommand or a worker by name and loads nothing else.
  ["main.ts", { any: ["base/"], dynamic: ALL }],
  ["scripts/", { any: ALL }],
  ["tests/", { any: [...ALL, "scripts/"] }],
];

/** What tests beside the code may import in addition to their folder's row. */
const TEST_ADDITIONS: readonly (readonly [from: string, targets: readonly string[]])[] = [
  // The emulated machine is the fake of the server's tests, a state in memory that of the client's.
  ["server/", ["lab/"]],
  ["cli/", ["cosi/"]],
];

/** Packages that exist for tests alone: peers to test against, never part of the program. */
const TEST_PACKAGES = ["npm:@grpc/grpc-js"];

/** The most folders a path may have. */
const MAX_FOLDERS = 3;

function matches(file: string, targets: readonly string[]): boolean {
  return targets.some((target) => target.endsWith("/") ? file.startsWith(target) : file === target);
}

/** The top folder of a path with its slash, or the file itself when it lies in the root. */
function folderOf(file: string): string {
  const slash = file.indexOf("/");
  return slash < 0 ? file : file.slice(0, slash + 1);
}

/** Explains why the table forbids an edge between two modules of ours, or returns `undefined`. */
function violationOf(edge: Edge, controllers: ReadonlySet<string>): string | undefined {
  const { from, to, kind } = edge;
  if (to.startsWith("tests/") && !from.startsWith("tests/")) return "nothing imports tests";
  if (to.endsWith("_test.ts")) return "no module imports a test module";
  const test = isTest(from);
  if (controllers.has(from) && controllers.has(to)) {
    return "a controller never imports another controller: share a pure module instead";
  }
  const source = from.startsWith("proto/gen/") ? "proto/gen/" : folderOf(from);
  if (to.startsWith(source) && source.endsWith("/")) return undefined;
  const rule = RULES.find(([prefix]) => matches(from, [prefix]))?.[1];
  if (rule === undefined) return `"${source}" has no row in the import table`;
  if (matches(to, rule.any)) return undefined;
  if (kind === "type" && matches(to, rule.type ?? [])) return undefined;
  // A type loads nothing, so it may be named wherever a module may be loaded later.
  if (kind !== "value" && matches(to, rule.dynamic ?? [])) return undefined;
  if (
    test && TEST_ADDITIONS.some(([prefix, more]) => from.startsWith(prefix) && matches(to, more))
  ) {
    return undefined;
  }
  const only = matches(to, rule.type ?? [])
    ? 'only by "import type"'
    : matches(to, rule.dynamic ?? [])
    ? 'only by "await import()"'
    : "never";
  return `"${source}" may import "${to}" ${only}`;
}

/** Finds the edges that the import table forbids. */
export function findForbiddenEdges(edges: readonly Edge[]): Finding[] {
  // What the catalogue lists is a controller; the other modules beside them are shared pure parts.
  const controllers = new Set(
    edges
      .filter(({ from, to, kind }) =>
        from === "controllers/catalogue.ts" && folderOf(to) === folderOf(from) && kind === "value"
      )
      .map(({ to }) => to),
  );
  const findings: Finding[] = [];
  for (const edge of edges) {
    const external = /^(npm|node|jsr|https?|data|blob):/.test(edge.to);
    const message = external ? packageViolationOf(edge) : violationOf(edge, controllers);
    if (message !== undefined) findings.push({ file: edge.from, line: edge.line, message });
  }
  return findings;
}

function packageViolationOf({ from, to }: Edge): string | undefined {
  if (!/^(npm|node):/.test(to)) return `"${to}": only npm packages and node modules are imported`;
  if (isTest(from) || from.startsWith("scripts/")) return undefined;
  const name = TEST_PACKAGES.find((name) => to === name || to.startsWith(`${name}@`));
  return name === undefined ? undefined : `"${name}" is a package for tests only`;
}

/** Finds sources that lie deeper than the layout allows. */
export function findDeepFolders(files: readonly string[]): Finding[] {
  return files
    .filter((file) => file.endsWith(".ts") && !isGenerated(file))
    .filter((file) => file.split("/").length - 1 > MAX_FOLDERS)
    .map((file) => ({ file, message: `lies more than ${MAX_FOLDERS} folders deep` }));
}

/** Finds modules that only pass on what others export. */
export function findBarrels(sources: ReadonlyMap<string, string>): Finding[] {
  const findings: Finding[] = [];
  for (const [file, text] of sources) {
    if (!/^export\s+(?:type\s+)?\{[^}]*\}\s*from\b/m.test(text)) continue;
    const rest = text
      .replace(/\/\*[\s\S]*?\*\//g, "")
      .replace(/^\s*\/\/.*$/gm, "")
      .replace(/^(?:export|import)\s[^;]*?\bfrom\s*"[^"]*"[^;]*;/gm, "");
    if (rest.trim() === "") {
      findings.push({ file, message: "is a barrel: import the defining file instead" });
    }
  }
  return findings;
}

interface InfoReference {
  readonly specifier?: string;
  readonly span?: { readonly start: { readonly line: number } };
}

interface InfoDependency {
  readonly specifier: string;
  readonly code?: InfoReference;
  readonly type?: InfoReference;
  readonly isDynamic?: boolean;
}

interface InfoModule {
  readonly specifier: string;
  readonly dependencies?: readonly InfoDependency[];
}

/** Turns the output of `deno info --json` into edges; what lies outside of `root` is left out. */
export function edgesOf(info: { readonly modules: readonly InfoModule[] }, root: string): Edge[] {
  const edges: Edge[] = [];
  const pathOf = (specifier: string): string =>
    specifier.startsWith("file:") ? relative(root, fileURLToPath(specifier)) : specifier;
  for (const module of info.modules) {
    const from = pathOf(module.specifier);
    if (from.startsWith("..") || from.includes(":")) continue;
    // A module that is missing or does not parse is the type check's to report.
    for (const dependency of module.dependencies ?? []) {
      const reference = dependency.code ?? dependency.type;
      if (reference?.specifier === undefined) continue;
      edges.push({
        from,
        to: pathOf(reference.specifier),
        kind: dependency.code === undefined ? "type" : dependency.isDynamic ? "dynamic" : "value",
        line: (reference.span?.start.line ?? 0) + 1,
      });
    }
  }
  return edges;
}

/** Resolves the graph of all sources; nothing is fetched or run. */
export async function readEdges(files: readonly string[], root: string): Promise<Edge[]> {
  const entry = await Deno.makeTempFile({ suffix: ".ts" });
  try {
    const imports = files.map((file) => `import "${pathToFileURL(`${root}/${file}`).href}";`);
    await Deno.writeTextFile(entry, imports.join("\n"));
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["info", "--json", `--config=${root}/deno.json`, entry],
      cwd: root,
    }).output();
    const decoder = new TextDecoder();
    if (code !== 0) throw new Error(`Cannot resolve the module graph: ${decoder.decode(stderr)}`);
    return edgesOf(JSON.parse(decoder.decode(stdout)), root);
  } finally {
    await Deno.remove(entry);
  }
}

/** Runs every check of this module over a repository. */
export async function checkImports(root: string): Promise<Finding[]> {
  const files = listFiles(root).filter((file) => file.endsWith(".ts"));
  const sources = new Map(
    files.map((file) => [file, Deno.readTextFileSync(`${root}/${file}`)] as const),
  );
  return [
    ...findForbiddenEdges(await readEdges(files, root)),
    ...findDeepFolders(files),
    ...findBarrels(sources),
  ];
}

if (import.meta.main) Deno.exit(reportFindings("check_imports", await checkImports(ROOT)));
