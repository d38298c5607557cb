// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import {
  type Permission,
  permissionsOf,
  permissionsToRotate,
  permissionsToServe,
  permissionsWhileServing,
} from "./permissions.ts";

const NAMES: readonly Permission[] = ["env", "ffi", "net", "read", "run", "sys", "write"];

/** Runs a module under all permissions and reads the JSON that it prints last. */
async function runModule(source: string): Promise<unknown> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", `--config=${new URL("../deno.json", import.meta.url).pathname}`, source],
    stderr: "inherit",
  }).output();
  return JSON.parse(new TextDecoder().decode(stdout).trimEnd().split("\n").at(-1) ?? "");
}

/** The permissions that a process still has after it ran a command line. */
async function permissionsAfter(args: readonly string[]): Promise<unknown> {
  return await runModule(`
    import { run } from "${new URL("program.ts", import.meta.url)}";
    const names = ${JSON.stringify(NAMES)};
    await run(${JSON.stringify(args)});
    const granted = names.filter((name) => Deno.permissions.querySync({ name }).state === "granted");
    console.log("\\n" + JSON.stringify(granted));
    Deno.exitCode = 0;`);
}

Deno.test("permissionsOf() knows the subcommand, and the one of its subcommands that needs more", () => {
  deepStrictEqual(permissionsOf(["ctl", "get", "links"]), ["env", "net", "read", "sys"]);
  deepStrictEqual(permissionsOf(["ctl"]), ["env", "net", "read", "sys"]);
  deepStrictEqual(permissionsOf(["ctl", "edit", "link", "a"]), [
    "env",
    "net",
    "read",
    "run",
    "sys",
    "write",
  ]);
  deepStrictEqual(permissionsOf(["key", "rotate"]), ["env", "net", "read", "sys", "write", "run"]);
  for (
    const args of [[], ["key", "edit"], ["--help"], ["version"], ["toString"], ["constructor", "x"]]
  ) {
    deepStrictEqual(permissionsOf(args), ["env", "read", "sys"]);
  }
});

/** A configuration with a store and a tunnel. */
function document(store: string, wireguard = ", mode: user"): string {
  return `
machineApiAdvertisedUrl: grpc://batuta.example.org:8090
wireguard: { advertisedEndpoint: "batuta.example.org:50180"${wireguard} }
state: { ${store}, key: { env: KEY } }
`;
}

const SERVING = ["env", "net", "read", "sys", "write"];
const CHILD = "kind: etcd, etcd: { child: { dataDirectory: /d } }";

Deno.test("a server keeps run where it starts its own etcd, and nowhere else", async () => {
  const { parseConfig } = await import("../server/config/parse_config.ts");
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["kind: sqlite", SERVING],
    ['kind: etcd, etcd: { endpoints: ["http://a:1"] }', SERVING],
    ["kind: kv, etcd: { child: { dataDirectory: /d } }", SERVING],
    [CHILD, [...SERVING, "run"]],
  ];
  for (const [store, expected] of cases) {
    const config = parseConfig(document(store));
    deepStrictEqual(permissionsToServe(config), expected, store);
    deepStrictEqual(permissionsWhileServing(config), expected, store);
    deepStrictEqual(permissionsToRotate(config), expected, store);
  }
});

Deno.test("permissionsToServe() keeps the C library for a tunnel that may meet the kernel", async () => {
  const { parseConfig } = await import("../server/config/parse_config.ts");
  const configOf = (wireguard: string) => parseConfig(document("kind: sqlite", wireguard));
  for (const wireguard of ["", ", mode: auto", ", mode: tun", ", mode: kernel"]) {
    deepStrictEqual(permissionsToServe(configOf(wireguard)), [...SERVING, "ffi"]);
    deepStrictEqual(permissionsWhileServing(configOf(wireguard)), SERVING);
  }
  for (const wireguard of [", mode: user", ", enabled: false", ", mode: tun, enabled: false"]) {
    deepStrictEqual(permissionsToServe(configOf(wireguard)), SERVING);
    deepStrictEqual(permissionsWhileServing(configOf(wireguard)), SERVING);
  }
});

Deno.test("run() leaves serve with what its configuration needs", async () => {
  const path = await Deno.makeTempFile();
  try {
    const args = ["serve", "--check-config", "--config", path];
    const cases: readonly (readonly [string, readonly string[]])[] = [
      [document("kind: sqlite"), SERVING],
      [document("kind: sqlite", ""), [...SERVING, "ffi"]],
      [document(CHILD), [...SERVING, "run"]],
    ];
    for (const [text, kept] of cases) {
      await Deno.writeTextFile(path, text);
      deepStrictEqual(await permissionsAfter(args), kept.toSorted());
    }
  } finally {
    await Deno.remove(path);
  }
});

Deno.test("run() leaves ctl without write, run and ffi", async () => {
  deepStrictEqual(await permissionsAfter(["ctl", "completion", "bash"]), [
    "env",
    "net",
    "read",
    "sys",
  ]);
});

Deno.test("run() leaves key without write, run and ffi", async () => {
  deepStrictEqual(await permissionsAfter(["key", "--help"]), ["env", "read", "sys"]);
});

Deno.test("keepPermissions() binds what comes after it", async () => {
  const outcome = await runModule(`
    import { keepPermissions } from "${new URL("permissions.ts", import.meta.url)}";
    keepPermissions(["env", "net", "read"]);
    const attempts = {
      env: () => Deno.env.get("HOME"),
      ffi: () => Deno.dlopen("/nowhere.so", {}),
      run: () => new Deno.Command(Deno.execPath(), { args: ["--version"] }).outputSync(),
      sys: () => Deno.hostname(),
      write: () => Deno.makeTempFileSync(),
    };
    const outcome = {};
    for (const [name, attempt] of Object.entries(attempts)) {
      try {
        attempt();
        outcome[name] = "done";
      } catch (error) {
        outcome[name] = error.name;
      }
    }
    console.log(JSON.stringify(outcome));`);
  deepStrictEqual(outcome, {
    env: "done",
    ffi: "NotCapable",
    run: "NotCapable",
    sys: "NotCapable",
    write: "NotCapable",
  });
});
