// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { parse } from "yaml";
import example from "../docs/examples/cluster.yaml" with { type: "text" };
import workers from "../docs/examples/workers.yaml" with { type: "text" };
import { readDocuments } from "./ctl_document.ts";

const MAIN = new URL("../main.ts", import.meta.url).pathname;

// What the task "lab" of deno.json grants.
const GRANTS = [
  "--allow-net",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys=hostname",
];

async function lab(...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--no-check", ...GRANTS, MAIN, "lab", "--once", ...args],
    env: { NO_COLOR: "1" },
  }).output();
  const decoder = new TextDecoder();
  return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}

Deno.test("docs/examples/cluster.yaml is a cluster of the lab's first machine", async () => {
  const { hardwareOf } = await import("../lab/hardware.ts");
  const drafts = readDocuments(example, "docs/examples/cluster.yaml");
  assert.deepEqual(
    drafts.map(({ metadata }) => metadata.id),
    ["lab", "lab-control-planes", hardwareOf("lab", 1).uuid],
  );
  assert.equal(parse(example.split("---")[0] ?? "").spec.talosversion, "1.12.11");
});

Deno.test("docs/examples/workers.yaml adds the other machines to that cluster", async () => {
  const { hardwareOf } = await import("../lab/hardware.ts");
  const drafts = readDocuments(workers, "docs/examples/workers.yaml");
  assert.deepEqual(
    drafts.map(({ metadata }) => metadata.id),
    ["lab-workers", hardwareOf("lab", 2).uuid, hardwareOf("lab", 3).uuid],
  );
  assert.ok(drafts.every(({ metadata }) => metadata.labels["omni.sidero.dev/cluster"] === "lab"));
});

Deno.test("batuta lab --once ends when its cluster runs", async () => {
  const { code, stdout, stderr } = await lab("--api-bind", "127.0.0.1:0", "--timeout", "100");
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^cluster "lab" is running$/m);
  assert.match(stdout, /^machine da201591-b193-433d-a24b-5f76d2aa46ca is running$/m);
});

Deno.test("batuta lab --once --no-cluster ends when all machines have joined", async () => {
  const { code, stdout, stderr } = await lab(
    "--no-cluster",
    "--machines",
    "5",
    "--api-bind",
    "127.0.0.1:0",
    "--timeout",
    "100",
  );
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^5 machines have joined$/m);
});

Deno.test("batuta lab --once tells what is missing when its time is over", async () => {
  const { code, stderr } = await lab("--api-bind", "127.0.0.1:0", "--timeout", "1");
  assert.equal(code, 1, stderr);
  assert.match(stderr, /cluster "lab" does not run after 1 s/);
});

Deno.test("batuta lab refuses options that it does not understand", async () => {
  const machines = await lab("--machines", "none");
  assert.equal(machines.code, 2);
  assert.match(machines.stderr, /whole number/);
  const bind = await lab("--api-bind", "nonsense");
  assert.equal(bind.code, 2);
  assert.match(bind.stderr, /<host>:<port>/);
});

Deno.test("batuta lab says what to do when its address is taken", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  try {
    const { code, stderr } = await lab("--api-bind", `127.0.0.1:${listener.addr.port}`);
    assert.equal(code, 1);
    assert.match(stderr, /--api-bind/);
  } finally {
    listener.close();
  }
});
