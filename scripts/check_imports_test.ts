// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import {
  checkImports,
  type Edge,
  type EdgeKind,
  findBarrels,
  findDeepFolders,
  findForbiddenEdges,
} from "./check_imports.ts";

function edge(from: string, to: string, kind: EdgeKind = "value"): Edge {
  return { from, to, kind, line: 1 };
}

const ALLOWED: readonly Edge[] = [
  edge("rpc/client.ts", "base/errors.ts"),
  edge("rpc/client.ts", "node:net"),
  edge("cosi/state/client.ts", "rpc/client.ts"),
  edge("resources/link/link.ts", "cosi/resource.ts"),
  edge("controllers/link/peer.ts", "link/peers.ts", "type"),
  edge("controllers/config/render.ts", "talos/config/render.ts"),
  edge("server/serve.ts", "controllers/catalogue.ts"),
  edge("server/join_test.ts", "lab/machine.ts"),
  edge("cli/serve.ts", "server/serve.ts", "dynamic"),
  edge("cli/config.ts", "server/config/parse_config.ts", "dynamic"),
  edge("cli/config.ts", "talos/config/patch.ts", "type"),
  edge("main.ts", "link/tunnel_worker.ts", "dynamic"),
  edge("rpc/peer_test.ts", "npm:@grpc/grpc-js@1.14.7"),
  edge("tests/integration/lab_test.ts", "scripts/compile.ts"),
];

const FORBIDDEN: readonly (readonly [Edge, RegExp])[] = [
  [edge("base/log.ts", "rpc/stream.ts"), /"base\/" may import "rpc\/stream.ts" never/],
  [edge("cosi/resource.ts", "resources/link/link.ts"), /never/],
  [edge("resources/link/link.ts", "cosi/runtime/queue.ts"), /never/],
  [edge("link/peers.ts", "talos/client.ts"), /never/],
  [edge("link/peers.ts", "cosi/resource.ts", "type"), /never/],
  [edge("controllers/link/peer.ts", "link/peers.ts"), /only by "import type"/],
  [edge("controllers/link/peer.ts", "rpc/client.ts", "type"), /never/],
  [edge("lab/machine.ts", "server/serve.ts"), /never/],
  [edge("server/serve.ts", "lab/machine.ts", "dynamic"), /never/],
  [edge("cli/serve.ts", "server/serve.ts"), /only by "await import\(\)"/],
  [edge("cli/config.ts", "talos/config/patch.ts"), /only by "await import\(\)"/],
  [edge("cli/serve.ts", "controllers/catalogue.ts", "dynamic"), /never/],
  [edge("main.ts", "cli/ctl.ts"), /only by "await import\(\)"/],
  [edge("link/peers.ts", "tests/fixtures.ts"), /nothing imports tests/],
  [edge("link/peers.ts", "link/peers_test.ts"), /no module imports a test/],
  [edge("server/serve.ts", "scripts/tree.ts"), /never/],
  [edge("stray/thing.ts", "base/errors.ts"), /no row/],
  [edge("rpc/client.ts", "npm:@grpc/grpc-js@1.14.7"), /package for tests only/],
  [edge("rpc/client.ts", "https://example.org/x.ts"), /only npm packages/],
];

Deno.test("findForbiddenEdges() accepts what the table allows", () => {
  deepStrictEqual(findForbiddenEdges(ALLOWED), []);
});

for (const [forbidden, message] of FORBIDDEN) {
  const { from, to, kind } = forbidden;
  Deno.test(`findForbiddenEdges() refuses ${from} -> ${to} (${kind})`, () => {
    const findings = findForbiddenEdges([forbidden]);
    strictEqual(findings.length, 1);
    match(findings[0]?.message ?? "", message);
  });
}

Deno.test("findForbiddenEdges() refuses a controller that imports another one", () => {
  const findings = findForbiddenEdges([
    edge("controllers/catalogue.ts", "controllers/link/peer.ts"),
    edge("controllers/catalogue.ts", "controllers/machine/machine.ts"),
    edge("controllers/link/peer.ts", "controllers/machine/machine.ts"),
    edge("controllers/link/peer.ts", "controllers/machine/stage.ts"),
  ]);
  deepStrictEqual(findings.map(({ file }) => file), ["controllers/link/peer.ts"]);
});

Deno.test("findDeepFolders() refuses a fourth folder", () => {
  const files = ["a/b/c/d.ts", "a/b/c/d/e.ts", "proto/gen/a/b/c_pb.ts", "a/b/c/d/e/f.txt"];
  deepStrictEqual(findDeepFolders(files).map(({ file }) => file), ["a/b/c/d/e.ts"]);
});

Deno.test("findBarrels() tells a barrel from a module with a re-export", () => {
  const findings = findBarrels(
    new Map([
      [
        "a/barrel.ts",
        '// x\n/** y */\nexport { a } from "./a.ts";\nexport type { B } from "./b.ts";\n',
      ],
      ["a/module.ts", 'export type { B } from "./b.ts";\nexport const C = 1;\n'],
    ]),
  );
  deepStrictEqual(findings.map(({ file }) => file), ["a/barrel.ts"]);
});

Deno.test("checkImports() finds violations seeded in a real tree", async () => {
  const root = await Deno.makeTempDir();
  try {
    for (const folder of ["base", "link", "controllers/link"]) {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
    }
    const write = (file: string, text: string) => Deno.writeTextFile(`${root}/${file}`, text);
    await write("deno.json", "{}");
    await write("link/peers.ts", "export interface Peers {}\nexport const peers: Peers = {};\n");
    await write(
      "base/log.ts",
      '\nimport { peers } from "../link/peers.ts";\nexport default peers;\n',
    );
    await write(
      "controllers/link/good.ts",
      'import type { Peers } from "../../link/peers.ts";\nexport type P = Peers;\n',
    );
    await write(
      "controllers/link/bad.ts",
      'import { peers } from "../../link/peers.ts";\nexport const p = peers;\n',
    );
    const findings = await checkImports(root);
    deepStrictEqual(findings.map(({ file, line }) => [file, line]), [
      ["base/log.ts", 2],
      ["controllers/link/bad.ts", 1],
    ]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
