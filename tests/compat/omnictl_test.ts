// SPDX-License-Identifier: AGPL-3.0-or-later

// The command line of the public client, unmodified, against a lab server without authentication.

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { parseConfig } from "../../server/config/parse_config.ts";
import { startServer } from "../../server/serve.ts";
import { endChild } from "../child_process.ts";
import { buildGo, hasProgram, type LabServer, startLab } from "./lab_server.ts";

const TEMPLATE = new URL("omnictl/template.yaml", import.meta.url).pathname;
const CLIENT = new URL("omnictl/", import.meta.url).pathname;
const DICTIONARY = new URL("../../../shared/data/omni/config.1.zdict", import.meta.url).pathname;
/** Templates of the client's own tests that its command line accepts. */
const VALID_TEMPLATES = ["cluster1.yaml", "cluster2.yaml", "cluster3.yaml"];

/** What a run of a program gave. */
interface Run {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Runs the client in a folder of its own. */
type Omnictl = (args: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Run>;

function clientOf(
  binary: string,
  { endpoint }: { readonly endpoint: string },
  home: string,
): Omnictl {
  return async (args, env = {}) => {
    const { code, stdout, stderr } = await new Deno.Command(binary, {
      args: [...args],
      cwd: home,
      env: { OMNI_ENDPOINT: endpoint, OMNICONFIG: `${home}/config`, HOME: home, ...env },
      stdout: "piped",
      stderr: "piped",
    }).output();
    const decoder = new TextDecoder();
    return { code, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
  };
}

async function succeed(omnictl: Omnictl, args: readonly string[]): Promise<string> {
  const { code, out, errors } = await omnictl(args);
  strictEqual(code, 0, `omnictl ${args.join(" ")}: ${errors}${out}`);
  return out;
}

/** Runs work on items, a few at a time: each starts a process. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const run = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) await work(item);
  };
  await Promise.all([run(), run(), run()]);
}

async function getsEveryType(omnictl: Omnictl): Promise<void> {
  const cases = CATALOGUE.flatMap((type) =>
    ["table", "yaml", "json"].map((format) => ({ type, format }))
  );
  await each(cases, async ({ type, format }) => {
    const { code, out, errors } = await omnictl(["get", type.type, "-o", format]);
    const what = `get ${type.type} -o ${format}`;
    if (type.access === "hidden") {
      ok(code !== 0 && errors.includes("not available over the API"), `${what}: ${errors}`);
      return;
    }
    strictEqual(code, 0, `${what}: ${errors}`);
    ok(!`${out}${errors}`.includes("YAML spec is not specified"), what);
  });
}

async function appliesEditsAndDeletes(omnictl: Omnictl, home: string): Promise<void> {
  const file = `${home}/patch.yaml`;
  await Deno.writeTextFile(
    file,
    `metadata:
    namespace: default
    type: ConfigPatches.omni.sidero.dev
    id: 500-compat
    labels:
        omni.sidero.dev/cluster: lab
spec:
    data: |
        machine:
            sysctls:
                a: b
`,
  );
  await succeed(omnictl, ["apply", "-f", file]);
  match(await succeed(omnictl, ["get", "configpatch", "500-compat", "-o", "yaml"]), /a: b/);
  const editor = `${home}/editor`;
  await Deno.writeTextFile(editor, "#!/bin/sh\nexec sed -i 's/a: b/a: c/' \"$1\"\n", {
    mode: 0o755,
  });
  const edited = await omnictl(["edit", "configpatch", "500-compat"], { EDITOR: editor });
  strictEqual(edited.code, 0, edited.errors);
  match(await succeed(omnictl, ["get", "configpatch", "500-compat", "-o", "yaml"]), /a: c/);
  await Deno.writeTextFile(file, (await Deno.readTextFile(file)).replace("sysctls", "token"));
  const refused = await omnictl(["apply", "-f", file]);
  ok(refused.code !== 0, "a patch with what it may not hold is refused");
  await succeed(omnictl, ["delete", "configpatch", "500-compat"]);
  const gone = await omnictl(["get", "configpatch", "500-compat"]);
  ok(gone.code !== 0 && gone.errors.includes("NotFound"), gone.errors);
}

async function watches(binary: string, lab: LabServer, home: string): Promise<void> {
  const child = new Deno.Command(binary, {
    args: ["get", "clusters", "-w"],
    env: { OMNI_ENDPOINT: lab.endpoint, OMNICONFIG: `${home}/config`, HOME: home },
    stdout: "piped",
    stderr: "null",
    // It watches until it is killed.
    signal: AbortSignal.timeout(60_000),
  }).spawn();
  const row = /\+\s+default\s+Cluster\s+lab/;
  let seen = "";
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    seen += part;
    if (row.test(seen)) break;
  }
  await endChild(child, "SIGKILL");
  match(seen, row);
}

async function managesAClusterByTemplate(omnictl: Omnictl): Promise<void> {
  const template = (...args: string[]): Promise<string> =>
    succeed(omnictl, ["cluster", "template", ...args, "-f", TEMPLATE]);
  await template("validate");
  match(await template("render"), /id: second-control-planes/);
  match(await template("diff"), /\+ {2}id: second/);
  await template("sync");
  strictEqual(await template("diff"), "");
  match(await template("status", "--wait", "90s"), /"second" RUNNING Ready \(2\/2\)/);
  match(await succeed(omnictl, ["cluster", "status", "second"]), /RUNNING Ready/);
  await template("delete");
  const left = await succeed(omnictl, [
    "get",
    "machinesetnodes",
    "-l",
    "omni.sidero.dev/cluster=second",
  ]);
  deepStrictEqual(left.trim().split("\n").length, 1, left);
}

async function acceptsTheClientsTemplates(omnictl: Omnictl): Promise<void> {
  const { stdout } = await new Deno.Command("go", {
    args: ["list", "-m", "-f", "{{.Dir}}", "github.com/siderolabs/omni/client"],
    cwd: CLIENT,
  }).output();
  const folder = `${new TextDecoder().decode(stdout).trim()}/pkg/template/testdata`;
  for (const name of VALID_TEMPLATES) {
    const path = `${folder}/${name}`;
    for (const verb of ["validate", "render"]) {
      const { code, errors } = await omnictl(["cluster", "template", verb, "-f", path], {
        PWD: folder,
      });
      strictEqual(code, 0, `${verb} ${name}: ${errors}`);
    }
  }
}

/** A patch that the client compresses with its dictionary. */
const LARGE_PATCH = `metadata:
    namespace: default
    type: ConfigPatches.omni.sidero.dev
    id: 500-large
    labels:
        omni.sidero.dev/cluster: any
spec:
    data: |
        machine:
            sysctls:
${
  Array.from({ length: 200 }, (_, index) => `                key.${index}: "${index * 7919}"`).join(
    "\n",
  )
}
`;

/** Applies a large patch to a server that has the dictionary at a path, or has none there. */
async function appliesLargePatch(binary: string, home: string, dictionary: string): Promise<Run> {
  const server = await startServer(
    parseConfig(JSON.stringify({
      machineApiAdvertisedUrl: "grpc://127.0.0.1:1",
      api: { bindAddress: "127.0.0.1:0" },
      siderolink: { bindAddress: "127.0.0.1:0", allowLocalAdvertised: true },
      wireguard: { enabled: false, advertisedEndpoint: "127.0.0.1:1" },
      state: { kind: "memory" },
      compression: { dictionaryPath: dictionary },
    })),
    { log: silentLogger },
  );
  try {
    const endpoint = `http://127.0.0.1:${server.apiPort}`;
    const omnictl = clientOf(binary, { endpoint }, home);
    const file = `${home}/large.yaml`;
    await Deno.writeTextFile(file, LARGE_PATCH);
    const applied = await omnictl(["apply", "-f", file]);
    if (applied.code !== 0) return applied;
    return await omnictl(["get", "configpatch", "500-large", "-o", "yaml"]);
  } finally {
    await server.close();
  }
}

async function compressesFields(binary: string, home: string): Promise<void> {
  const refused = await appliesLargePatch(binary, home, "/nonexistent");
  ok(refused.code !== 0 && refused.errors.includes("batuta dictionary --fetch"), refused.errors);
  if (!isFile(DICTIONARY)) return;
  const shown = await appliesLargePatch(binary, home, DICTIONARY);
  strictEqual(shown.code, 0, shown.errors);
  match(shown.out, /key\.199: "1575881"/);
  match(shown.out, /compresseddata: \[\]/);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

const missing = hasProgram("go", "version") ? "" : " (skipped: go is not installed)";

Deno.test({
  name: `omnictl of the public client feels at home${missing}`,
  ignore: missing !== "",
  async fn(test) {
    const home = await Deno.makeTempDir();
    try {
      const binary = `${home}/omnictl`;
      await buildGo("omnictl", binary);
      await test.step("large fields need the dictionary, and are read with it", () =>
        compressesFields(binary, home));
      await using lab = await startLab([]);
      const omnictl = clientOf(binary, lab, home);
      await test.step("get -w shows a cluster", () => watches(binary, lab, home));
      await lab.waitFor('cluster "lab" is running', 120_000);
      await test.step("get shows every type in every format", () => getsEveryType(omnictl));
      await test.step("apply, edit and delete change a resource", () =>
        appliesEditsAndDeletes(omnictl, home));
      await test.step("cluster template makes, shows and removes a cluster", () =>
        managesAClusterByTemplate(omnictl));
      await test.step("cluster template accepts the client's own examples", () =>
        acceptsTheClientsTemplates(omnictl));
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
