// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { CodedError } from "../../base/errors.ts";
import { renderConfigDocs } from "./config_docs.ts";
import { type Config, parseConfig } from "./parse_config.ts";
import type { Violation } from "./schema.ts";

const MINIMAL = `
machineApiAdvertisedUrl: grpc://batuta.example.org:8090
wireguard: { advertisedEndpoint: "batuta.example.org:50180" }
state: { kind: sqlite, sqlite: { path: /var/lib/batuta/state.db }, key: { env: KEY } }
`;

/** Reads the minimal document with further top-level text, which replaces keys of the same name. */
function read(text: string): Config {
  const replaced = /^[a-zA-Z]+(?=:)/gm;
  const names = new Set([...text.matchAll(replaced)].map(([name]) => name));
  const kept = MINIMAL.split("\n").filter((line) => !names.has(line.split(":")[0] ?? ""));
  return parseConfig([...kept, text].join("\n"));
}

function violationsOf(text: string): readonly Violation[] {
  try {
    read(text);
  } catch (error) {
    if (error instanceof CodedError) return error.details.violations as readonly Violation[];
    throw error;
  }
  return [];
}

Deno.test("parseConfig() fills in the defaults of the minimal document", () => {
  const config = parseConfig(MINIMAL);
  deepStrictEqual(config.api.bindAddress, { host: "127.0.0.1", port: 8080 });
  deepStrictEqual(config.siderolink.bindAddress, { host: "0.0.0.0", port: 8090 });
  deepStrictEqual(config.loadBalancer.portRange, { first: 10000, last: 35000 });
  deepStrictEqual(config.factoryUrls, {
    base: "https://factory.altlinux.space",
    pxe: "https://pxe.factory.altlinux.space",
  });
  deepStrictEqual(config.wireguardEndpoints, [{ host: "batuta.example.org", port: 50180 }]);
  strictEqual(config.nodeTokens.reclaimAfter, 600_000);
  strictEqual(config.machineStore.retention, 604_800_000);
  strictEqual(config.dictionaryPath, "/var/lib/batuta/config.1.zdict");
});

Deno.test("parseConfig() reports every violation at once with path, value and rule", () => {
  const violations = violationsOf(`
machineApiAdvertisedUrl: http://batuta.example.org
api: { bindAdress: "0.0.0.0:8080" }
loadBalancer: { portRange: 9-1 }
nodeTokens: { reclaimAfter: 1m }
`);
  deepStrictEqual(violations.map(({ path }) => path), [
    "machineApiAdvertisedUrl",
    "api.bindAdress",
    "nodeTokens.reclaimAfter",
    "loadBalancer.portRange",
  ]);
  deepStrictEqual(violations[3]?.value, "9-1");
  ok(violations[1]?.rule.includes('did you mean "bindAddress"?'), violations[1]?.rule ?? "");
});

/** Documents beside the minimal one, and the paths that they violate. */
const CASES: readonly (readonly [string, ...string[]])[] = [
  ["machineApiAdvertisedUrl: grpc://batuta.example.org", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: https://batuta.example.org:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://127.0.0.1:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://[::ffff:127.0.0.1]:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://[fe80::1]:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://0.0.0.0:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://[::]:8090", "machineApiAdvertisedUrl"],
  ["machineApiAdvertisedUrl: grpc://[2001:db8::1]:8090"],
  [
    'machineApiAdvertisedUrl: grpc://127.0.0.1:8090\nsiderolink: { bindAddress: "127.0.0.1:8090" }',
  ],
  [
    "machineApiAdvertisedUrl: grpc://127.0.0.1:8090\nsiderolink: { allowLocalAdvertised: true }",
  ],
  [
    "machineApiAdvertisedUrl: https://a.example:8090\nsiderolink: { tls: { certificate: a, key: b } }",
  ],
  ["wireguard: {}", "wireguard.advertisedEndpoint"],
  ['wireguard: { advertisedEndpoint: "127.0.0.1:1" }', "wireguard.advertisedEndpoint"],
  ['wireguard: { advertisedEndpoint: ":1" }', "wireguard.advertisedEndpoint"],
  ['wireguard: { advertisedEndpoints: ["a.example:1", "[2001:db8::1]:1"] }'],
  [
    'wireguard: { advertisedEndpoints: ["a.example:1", "[::1]:1"] }',
    "wireguard.advertisedEndpoints[1]",
  ],
  ['wireguard: { advertisedEndpoint: "a.example:1", mode: fast }', "wireguard.mode"],
  ['api: { bindAddress: "0.0.0.0:8080" }', "api.bindAddress"],
  ['api: { bindAddress: ":8080" }', "api.bindAddress"],
  ['api: { bindAddress: "[::1]:8080" }'],
  ['api: { bindAddress: "0.0.0.0:8080", allowPublicBind: true }'],
  ['api: { bindAddress: "0.0.0.0:8080", allowPublicBind: "yes" }', "api.allowPublicBind"],
  ["api: { tls: { certificate: a.pem } }", "api.tls.key"],
  ["state: { kind: boltdb, key: { env: KEY } }", "state.kind"],
  ["state: { kind: memory }"],
  ["state: { kind: sqlite }", "state.key"],
  ["state: { key: { env: KEY, credential: key } }", "state.key"],
  ["state: { key: { env: KEY, previous: [{}] } }", "state.key.previous[0]"],
  ["state: { kind: etcd, key: { env: KEY } }", "state.etcd.endpoints"],
  ["state: { kind: etcd, etcd: { child: { dataDirectory: /d } }, key: { env: KEY } }"],
  [
    "state: { kind: etcd, etcd: { child: { dataDirectory: /d, binary: /usr/bin/etcd } }, key: { env: KEY } }",
  ],
  [
    "state: { kind: etcd, etcd: { child: { binary: etcd } }, key: { env: KEY } }",
    "state.etcd.child.dataDirectory",
  ],
  [
    'state: { kind: etcd, etcd: { child: { dataDirectory: "" } }, key: { env: KEY } }',
    "state.etcd.child.dataDirectory",
    "state.etcd.endpoints",
  ],
  [
    'state: { kind: etcd, etcd: { endpoints: ["http://a:1"], certificateAuthority: a, certificate: b, key: c, child: { binary: etcd } }, key: {} }',
    "state.etcd.child.dataDirectory",
    "state.etcd.endpoints",
    "state.etcd.certificateAuthority",
    "state.etcd.certificate",
    "state.etcd.key",
    "state.key",
  ],
  ["state: { boltdb: { path: x }, key: { env: KEY } }", "state.boltdb"],
  ['siderolink: { initialJoinToken: "v2:abc" }', "siderolink.initialJoinToken"],
  ['siderolink: { initialJoinToken: " abc" }', "siderolink.initialJoinToken"],
  [`siderolink: { initialJoinToken: ${"a".repeat(1025)} }`, "siderolink.initialJoinToken"],
  [`siderolink: { initialJoinToken: ${"a".repeat(1024)} }`],
  ["imageFactory: { baseUrl: https://10.0.0.1/ }", "imageFactory.pxeBaseUrl"],
  ["imageFactory: { baseUrl: https://10.0.0.1, pxeBaseUrl: https://pxe.example }"],
  ["imageFactory: { baseUrl: https://user@factory.example }", "imageFactory.baseUrl"],
  ["imageFactory: { baseUrl: ftp://factory.example }", "imageFactory.baseUrl"],
  ['imageFactory: { installerImage: "{{.Name}}" }', "imageFactory.installerImage"],
  ['imageFactory: { installerImage: "{{.Host}}/{{.Version}}" }'],
  ["loadBalancer: { portRange: 1-65536 }", "loadBalancer.portRange"],
  ["loadBalancer: { portRange: 1000 }", "loadBalancer.portRange"],
  ["machineStore: { path: 'a?b' }", "machineStore.path"],
  ["machineStore: { retention: 0s }", "machineStore.retention"],
  ["nodeTokens: { reclaimAfter: 4m34s }", "nodeTokens.reclaimAfter"],
  ["nodeTokens: { reclaimAfter: 4m35s }"],
  ['talosVersions: [{ version: "11.0", talos: "1.12.10", kubernetes: ["1.34.1"] }]'],
  ['talosVersions: [{ version: "11.0" }]', "talosVersions[0].kubernetes"],
  ['talosVersions: [{ version: 11, kubernetes: ["1.34.1"] }]', "talosVersions[0].version"],
  [
    'talosVersions: [{ version: v1.2.3, kubernetes: ["1.1.1"] }, { version: 1.2.3, kubernetes: ["1.1.1"] }]',
    "talosVersions[1].version",
  ],
  ["infraProviders: [{ id: proxmox }, { id: proxmox }]", "infraProviders[1].id"],
  ["infraProviders: [{ id: Proxmox }]", "infraProviders[0].id"],
  ["infraProviders: {}", "infraProviders"],
  ["log: { level: loud }", "log.level"],
];

for (const [text, ...paths] of CASES) {
  Deno.test(`parseConfig() ${paths.length > 0 ? "refuses" : "accepts"} ${text.slice(0, 90)}`, () => {
    deepStrictEqual(violationsOf(text).map(({ path }) => path), paths);
  });
}

Deno.test("parseConfig() never repeats a secret or the value of an unknown key", () => {
  const token = "v1:hunter2";
  try {
    read(`siderolink: { initialJoinToken: "${token}", initialToken: hunter2 }`);
    throw new Error("accepted");
  } catch (error) {
    ok(error instanceof CodedError);
    ok(!error.message.includes("hunter2"), error.message);
    ok(!JSON.stringify(error.details).includes("hunter2"));
  }
});

Deno.test("parseConfig() names the place of a broken document without its text", () => {
  try {
    parseConfig("siderolink:\n  initialJoinToken: 'hunter2\n");
    throw new Error("accepted");
  } catch (error) {
    ok(error instanceof CodedError);
    ok(/line \d+, column \d+/.test(error.message), error.message);
    ok(!error.message.includes("hunter2"));
  }
});

Deno.test("renderConfigDocs() equals docs/config.md", () => {
  const stored = Deno.readTextFileSync(new URL("../../docs/config.md", import.meta.url));
  strictEqual(stored, renderConfigDocs(), 'run "deno run -A scripts/config_docs.ts"');
});

Deno.test("parseConfig() refuses texts that the YAML library cannot take", () => {
  const rules = [
    "name: *nowhere",
    `a: &a [x, x]\nb: &b [*a, *a]\nc: [${"*b, ".repeat(200)}]`,
    `name: '${"''".repeat(2000)}'`,
  ].map((text) => violationsOf(text).map(({ rule }) => rule));
  deepStrictEqual(rules, [
    ["has aliases that cannot be resolved"],
    ["has aliases that cannot be resolved"],
    ["has too many quotes in single quotes"],
  ]);
});
