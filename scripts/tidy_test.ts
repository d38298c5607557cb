// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import type { Finding } from "./tree.ts";
import {
  findDeadExports,
  findDeadLinks,
  findDeadModules,
  findLongFiles,
  findMissingLicenses,
  findStrayText,
  tidy,
} from "./tidy.ts";

const HEAD = "// SPDX-License-Identifier: AGPL-3.0-or-later\n";

function tree(files: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(files));
}

function filesOf(findings: readonly Finding[]): string[] {
  return findings.map(({ file }) => file);
}

Deno.test("findLongFiles() refuses 401 lines and an exception without need", () => {
  const sources = tree({
    "a/long.ts": "\n".repeat(401),
    "a/right.ts": "\n".repeat(400),
    "a/table.ts": "\n".repeat(500),
    "a/short.ts": "\n",
    "proto/gen/a_pb.ts": "\n".repeat(500),
  });
  const exceptions = new Map([["a/table.ts", "a table"], ["a/short.ts", "was a table"]]);
  deepStrictEqual(filesOf(findLongFiles(sources, exceptions)), ["a/long.ts", "a/short.ts"]);
});

Deno.test("findMissingLicenses() knows the licence of each place", () => {
  const notice = "// SPDX-License-Identifier: MPL-2.0\n" +
    "// This Source Code Form is subject to the terms of the Mozilla Public\n";
  const sources = tree({
    "a/good.ts": HEAD,
    "a/bare.ts": "export {};\n",
    "a/mpl.ts": notice,
    "a/run": `#!/bin/sh\n# ${HEAD.slice(3)}`,
    "a/bad": "#!/bin/sh\necho\n",
    "proto/good.proto": notice,
    "proto/agpl.proto": HEAD,
    "proto/gen/bare_pb.ts": "// SPDX-License-Identifier: MPL-2.0\n",
    "docs/a.md": "# A\n",
  });
  deepStrictEqual(filesOf(findMissingLicenses(sources)), [
    "a/bare.ts",
    "a/mpl.ts",
    "a/bad",
    "proto/agpl.proto",
    "proto/gen/bare_pb.ts",
  ]);
});

Deno.test("findStrayText() finds paths of a machine and hosts of registries", () => {
  const sources = tree({
    "docs/a.md": "see /home/me/notes\nor https://example.org/home/me/x\n",
    "base/b.ts": 'const A = "/root/x";\nconst B = "registry.npmjs.org";\nconst C = "a/root/x";\n',
    "deno.lock": "registry.npmjs.org",
  });
  deepStrictEqual(findStrayText(sources).map(({ file, line }) => [file, line]), [
    ["docs/a.md", 1],
    ["base/b.ts", 1],
    ["base/b.ts", 2],
  ]);
});

Deno.test("findDeadLinks() finds links and file names that lead nowhere", () => {
  const text = [
    "[good](b.md#part) [up](../README.md) [folder](../link/) [web](https://example.org) [top](#x)",
    "[dead](c.md)",
    "`link/peers.ts` `etc/hosts.ts` `peers.ts`",
    "`link/gone.ts`",
  ].join("\n");
  const sources = tree({ "docs/a.md": text });
  const files = new Set(["docs/a.md", "docs/b.md", "README.md", "link/peers.ts"]);
  deepStrictEqual(findDeadLinks(sources, files).map(({ line }) => line), [2, 4]);
});

Deno.test("findDeadModules() finds what only its own test uses", () => {
  const sources = tree({
    "main.ts": "",
    "server/serve.ts": "",
    "cli/run.ts": 'new URL("../link/tunnel_worker.ts", import.meta.url)',
    "link/tunnel_worker.ts": "",
    "link/peers.ts": "",
    "link/unused.ts": "",
    "link/unused_test.ts": "",
    "cosi/testing.ts": "",
    "cosi/fake.ts": "",
    "proto/gen/a_pb.ts": "",
  });
  const findings = findDeadModules(sources, [
    { from: "main.ts", to: "cli/run.ts" },
    { from: "main.ts", to: "server/serve.ts" },
    { from: "link/tunnel_worker.ts", to: "link/peers.ts" },
    { from: "link/unused_test.ts", to: "link/unused.ts" },
    { from: "cosi/testing.ts", to: "cosi/fake.ts" },
  ]);
  deepStrictEqual(filesOf(findings), ["link/unused.ts"]);
});

Deno.test("findDeadExports() finds what neither its module nor the program uses", () => {
  const sources = tree({
    "main.ts": "",
    "server/serve.ts": 'import { used } from "../link/peers.ts";\nconst { dynamic } = x;',
    "link/peers.ts": [
      "export function used() {}",
      "export const dynamic = 1;",
      "export interface Inner {}",
      "export function outer(inner: Inner) {}",
      "/** {@linkcode Dead} */",
      "export type Dead = string;",
      "export function tested() {}",
    ].join("\n"),
    "link/peers_test.ts": "tested(); outer();",
  });
  const findings = findDeadExports(sources, [
    { from: "server/serve.ts", to: "link/peers.ts" },
    { from: "link/peers_test.ts", to: "link/peers.ts" },
  ]);
  deepStrictEqual(findings.map(({ message }) => message.match(/"(\w+)"/)?.[1]), [
    "outer",
    "Dead",
    "tested",
  ]);
});

Deno.test("tidy() finds violations seeded in a real tree", async () => {
  const root = await Deno.makeTempDir();
  try {
    await Deno.mkdir(`${root}/base`);
    await Deno.writeTextFile(`${root}/deno.json`, "{}");
    await Deno.writeTextFile(`${root}/README.md`, "[a](missing.md)\n");
    await Deno.mkdir(`${root}/server`);
    await Deno.writeTextFile(`${root}/main.ts`, `${HEAD}import "./server/serve.ts";\n`);
    await Deno.writeTextFile(`${root}/server/serve.ts`, HEAD);
    await Deno.writeTextFile(`${root}/base/long.ts`, HEAD + "\n".repeat(400));
    deepStrictEqual((await tidy(root)).map(({ file, line }) => [file, line]), [
      ["base/long.ts", undefined],
      ["README.md", 1],
      ["base/long.ts", undefined],
    ]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
