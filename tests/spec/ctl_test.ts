// SPDX-License-Identifier: AGPL-3.0-or-later

// `batuta ctl` as a process of its own against a server of the API in this one.

import { match, strictEqual } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { readKey } from "openpgp";
import { silentLogger } from "../../base/log.ts";
import { openState, type StateCore } from "../../cosi/state/core.ts";
import { createStateService } from "../../cosi/state/service.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { NAMESPACES } from "../../resources/namespaces.ts";
import { InfraProvider } from "../../resources/provider/infra_provider.ts";
import { TalosVersion } from "../../resources/talos/talos_version.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { listenTcp } from "../../rpc/tcp.ts";
import { createContentChecks } from "../../server/api/content_checks.ts";
import { publishDefinitions } from "../../server/api/definitions.ts";
import { createPolicy } from "../../server/api/policy.ts";
import { createYamlSpecOf } from "../../server/api/yaml.ts";
import { createDecompressor } from "../../server/compression/dictionary.ts";
import { putResource } from "../../server/put_resource.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));
const PERMISSIONS = ["--allow-net", "--allow-read", "--allow-env", "--no-prompt"];
/** What `ctl edit` needs beyond that, and no other command may use. */
const EDIT_PERMISSIONS = ["--allow-write", "--allow-run"];

/** What a run printed and how it ended. */
interface Run {
  readonly code: number;
  readonly out: string;
  readonly errors: string;
}

/** Runs `batuta ctl`; `editor` is a command that changes the file named last. */
type Ctl = (args: string, input?: string, editor?: string) => Promise<Run>;

async function runCtl(args: readonly string[], input: string, editor: string): Promise<Run> {
  const permissions = [...PERMISSIONS, ...(args[0] === "edit" ? EDIT_PERMISSIONS : [])];
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...permissions, MAIN, "ctl", ...args],
    env: {
      NO_COLOR: "1",
      DENO_NO_UPDATE_CHECK: "1",
      RUST_BACKTRACE: "0",
      VISUAL: editor,
      EDITOR: "false",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const writer = child.stdin.getWriter();
  if (input !== "") await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, out: decoder.decode(stdout), errors: decoder.decode(stderr) };
}

async function withServer(body: (ctl: Ctl, state: StateCore) => Promise<void>): Promise<void> {
  const state = await openState({ store: openMemoryStore() });
  await publishDefinitions(state, CATALOGUE, NAMESPACES);
  const kubernetes = { compatibleKubernetesVersions: ["1.34.1", "1.34.2"] };
  await putResource(state, TalosVersion, {
    id: "1.12.9",
    spec: { version: "1.12.9", ...kubernetes },
  });
  const declared = new Set(CATALOGUE.map(({ type }) => type));
  const service = createStateService(state, {
    policy: createPolicy({
      types: CATALOGUE,
      peek: (ref) => state.peek(ref),
      checkReferences: createContentChecks(state, createDecompressor(undefined)),
    }),
    yamlSpecOf: createYamlSpecOf(CATALOGUE),
    isDeclared: (type) => declared.has(type),
  });
  const server = createRpcServer({ services: [service], log: silentLogger });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const serving = server.serve(listener);
  const endpoint = `http://127.0.0.1:${listener.port}`;
  try {
    await body(
      (args, input = "", editor = "") => {
        // Before the words of `complete`, which end with a "--" of their own.
        const [command = "", ...rest] = args.split(" ");
        const at = command === "infraprovider" ? rest.splice(0, 1) : [];
        return runCtl([command, ...at, "--endpoint", endpoint, ...rest], input, editor);
      },
      state,
    );
  } finally {
    server.close();
    listener.close();
    await serving;
    await state.close();
  }
}

function equal(run: Run, code: number, out: string): void {
  strictEqual(run.code, code, run.errors);
  strictEqual(run.out, out, run.errors);
}

const CLUSTER = (kubernetes: string) =>
  `metadata:
  type: Clusters.omni.sidero.dev
  id: one
  labels: { stage: test }
spec: { talosVersion: 1.12.9, kubernetesVersion: ${kubernetes} }
`;

Deno.test("batuta ctl shows resources as table, wide, yaml, json and names", () =>
  withServer(async (ctl) => {
    equal(
      await ctl("get talosversions"),
      0,
      "NAMESPACE   TYPE            ID       VERSION   KUBERNETES VERSIONS\n" +
        "default     TalosVersions   1.12.9   1         1.34.1,1.34.2\n",
    );
    equal(await ctl("list talosv -o name"), 0, "TalosVersions.omni.sidero.dev/1.12.9\n");
    const { out: wide } = await ctl("get TalosVersion 1.12.9 -o wide");
    match(wide, /PHASE\s+OWNER\s+CREATED\s+LABELS\n.*running/);
    const { out: yaml } = await ctl("get talosversion 1.12.9 -o yaml");
    match(yaml, /^metadata:\n {4}namespace: default\n/);
    match(
      yaml,
      /\nspec:\n {4}version: 1\.12\.9\n {4}compatiblekubernetesversions:\n {8}- 1\.34\.1\n/,
    );
    const { out: json } = await ctl("list talosversions -o json");
    const [document] = JSON.parse(json);
    strictEqual(document.spec.deprecated, false);
    strictEqual(document.metadata.version, 1);
    match((await ctl("api-resources -o name")).out, /\nClusters\.omni\.sidero\.dev\n/);
  }));

Deno.test("batuta ctl applies, selects, and deletes", () =>
  withServer(async (ctl, state) => {
    const name = "Clusters.omni.sidero.dev/one";
    equal(await ctl("apply -f - --dry-run", CLUSTER("1.34.1")), 0, `${name} created (dry run)\n`);
    equal(await ctl("apply -f -", CLUSTER("1.34.1")), 0, `${name} created\n`);
    equal(await ctl("apply -f -", CLUSTER("1.34.1")), 0, `${name} unchanged\n`);
    equal(await ctl("apply -f -", CLUSTER("1.34.2")), 0, `${name} updated\n`);
    const stored = state.peek({ namespace: "default", type: Cluster.type, id: "one" });
    strictEqual(stored?.decode(Cluster.schema).kubernetesVersion, "1.34.2");
    equal(await ctl("get cluster -l stage=test -o name"), 0, `${name}\n`);
    equal(await ctl("get cluster -l stage!=test -o name"), 0, "");
    equal(await ctl("delete cluster one"), 0, `${name} removed\n`);
    strictEqual((await ctl("get cluster one")).code, 1);
  }));

Deno.test("batuta ctl edit writes what the editor left, and keeps a text that is refused", () =>
  withServer(async (ctl) => {
    await ctl("apply -f -", CLUSTER("1.34.1"));
    const id = "Clusters.omni.sidero.dev/one";
    const edited = await ctl("edit cluster one", "", "sed -i s/1.34.1/1.34.2/");
    equal(edited, 0, `${id} updated\n`);
    match((await ctl("get cluster one -o yaml")).out, /kubernetesversion: 1\.34\.2\n/);
    equal(await ctl("edit cluster one", "", "true"), 0, `${id} unchanged\n`);

    const failed = await ctl("edit cluster one", "", "false");
    strictEqual(failed.code, 1);
    match(failed.errors, /The editor "false" ended with a failure/);
    const absent = await ctl("edit cluster one", "", "no-such-editor");
    match(absent.errors, /Cannot start the editor "no-such-editor"; set \$EDITOR/);

    const refused = await ctl("edit cluster one", "", "sed -i s/1.34.2/9.9.9/");
    strictEqual(refused.code, 2, refused.errors);
    const [path = ""] = /\/\S+\.yaml/.exec(refused.errors) ?? [];
    match(await Deno.readTextFile(path), /9\.9\.9/);
    await Deno.remove(path);
    const renamed = await ctl("edit cluster one", "", "sed -i s/id:.one/id:\\x20two/");
    match(renamed.errors, /namespace, type and ID cannot be edited/);
    await Deno.remove(/\/\S+\.yaml/.exec(renamed.errors)?.[0] ?? "");
    match((await ctl("get cluster one -o yaml")).out, /kubernetesversion: 1\.34\.2\n/);
  }));

Deno.test("batuta ctl tells a mistake (2) from a failure (1)", () =>
  withServer(async (ctl) => {
    const cases: readonly (readonly [string, number, RegExp, string?])[] = [
      ["get nonsense", 2, /unknown type "nonsense"; the server has:\n {2}AccessPolicies/],
      ["get cluster-", 2, /unknown type/],
      ["get clustermachinec", 2, /ambiguous; it may be:\n {2}ClusterMachineConfigPatches/],
      ["get cluster one -l a=b", 2, /exclude each other/],
      ["list cluster -l a=b=c", 2, /Cannot read selector "a=b=c"/],
      ["list cluster -o xml", 2, /Allowed choices are table, wide, yaml, json, name/],
      ["apply -f nowhere.yaml", 2, /there is no file "nowhere.yaml"/],
      [
        "apply -f -",
        2,
        /spec: colour is not a field/,
        "metadata: {type: Clusters.omni.sidero.dev, id: a}\nspec: {colour: red}",
      ],
      ["apply -f -", 1, /spec\.kubernetesVersion does not run/, CLUSTER("1.20.0")],
      ["get configs", 1, /not available over the API/],
      ["delete link a", 1, /not available over the API/],
      ["get cluster one", 1, /does not exist|Cannot find/],
    ];
    for (const [args, code, message, input] of cases) {
      const run = await ctl(args, input);
      match(run.errors, message, args);
      strictEqual(run.code, code, `${args}: ${run.errors}`);
    }
  }));

Deno.test("batuta ctl infraprovider key makes a key that the public client reads", () =>
  withServer(async (ctl, state) => {
    const bad: readonly (readonly [string, number])[] = [
      ["infraprovider key Oxide", 2],
      ["infraprovider key oxide --ttl 10ms", 2],
      ["infraprovider key oxide --ttl 4294967296s", 2],
      ["infraprovider key oxide", 1],
    ];
    for (const [args, code] of bad) {
      const run = await ctl(args);
      strictEqual(run.code, code, `${args}: ${run.errors}`);
      strictEqual(run.out, "");
    }
    await putResource(state, InfraProvider, { id: "oxide", spec: {} });
    const url = "https://batuta.example.org";
    const { code, out, errors } = await ctl(
      `infraprovider key oxide --ttl 90m0.9s --advertised-endpoint ${url}`,
    );
    strictEqual(code, 0, errors);
    const [endpoint, variable = "", ...armored] = out.split("\n");
    strictEqual(endpoint, `OMNI_ENDPOINT=${url}`);
    match(variable, /^OMNI_SERVICE_ACCOUNT_KEY=[A-Za-z0-9+/]+=*$/);
    const text = new TextDecoder().decode(Uint8Array.fromBase64(variable.split("=", 2)[1] ?? ""));
    const { name, pgp_key: pgpKey } = JSON.parse(text);
    strictEqual(name, "infra-provider:oxide");
    const key = await readKey({ armoredKey: pgpKey });
    const shown = await readKey({ armoredKey: armored.join("\n") });
    strictEqual(key.getFingerprint(), shown.getFingerprint());
    strictEqual(shown.isPrivate(), false);
    const expiration = await key.getExpirationTime();
    strictEqual(Number(expiration) - key.getCreationTime().getTime(), 5_400_000);
  }));

Deno.test("batuta ctl complete offers commands, types and IDs", () =>
  withServer(async (ctl) => {
    match((await ctl("complete -- g")).out, /^get\n(.*\n)*infraprovider\n/);
    match((await ctl("complete -- get clus")).out, /\nclusterstatuses\n/);
    strictEqual((await ctl("complete -- get talosversion 1")).out, "1.12.9\n");
  }));

Deno.test("batuta ctl says what to check when nobody answers", async () => {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  const endpoint = `http://127.0.0.1:${listener.port}`;
  const { code, errors } = await runCtl(["get", "cluster", "--endpoint", endpoint], "", "");
  strictEqual(code, 1);
  match(errors, new RegExp(`Cannot reach the server at ${endpoint}; check that "batuta serve"`));
});
