// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { answerKubernetes, type KubernetesReply, type KubernetesUser } from "./kubernetes_api.ts";
import { NodeTable } from "./node_table.ts";

const ADMIN: KubernetesUser = { name: "admin", groups: ["system:masters"] };
const READER: KubernetesUser = { name: "reader", groups: ["viewers"] };

function tableOf(...names: string[]): NodeTable {
  const nodes = new NodeTable(() => 1_000);
  for (const name of names) {
    nodes.register({
      name,
      machineId: "da201591-b193-433d-a24b-5f76d2aa46ca",
      addresses: ["10.5.0.1"],
      labels: { zone: "a" },
      isControlPlane: true,
      kubeletVersion: "v1.34.1",
      osImage: "Talos (v1.12.11)",
    });
    nodes.edit(name, { isReady: true });
  }
  return nodes;
}

function ask(
  method: string,
  target: string,
  { user = ADMIN, nodes = tableOf("one"), isHealthy = true, nowMs = 2_000, body = "" }: {
    readonly user?: KubernetesUser | null;
    readonly nodes?: NodeTable;
    readonly isHealthy?: boolean;
    readonly nowMs?: number;
    readonly body?: string;
  } = {},
): KubernetesReply {
  const [path = "", query = ""] = target.split("?");
  return answerKubernetes(
    { method, path, query: new URLSearchParams(query), user: user ?? undefined, body },
    { nodes, isHealthy: () => isHealthy, version: "v1.34.1", nowMs: () => nowMs },
  );
}

function bodyOf(reply: KubernetesReply): Record<string, unknown> {
  return JSON.parse(reply.body as string);
}

const CASES: readonly [what: string, status: number, reply: () => KubernetesReply][] = [
  ["nobody is anonymous", 401, () => ask("GET", "/readyz", { user: null })],
  ["everybody known may ask for health", 200, () => ask("GET", "/readyz", { user: READER })],
  ["everybody known may ask for the version", 200, () => ask("GET", "/version", { user: READER })],
  ["only masters list nodes", 403, () => ask("GET", "/api/v1/nodes", { user: READER })],
  ["only masters delete nodes", 403, () => ask("DELETE", "/api/v1/nodes/one", { user: READER })],
  ["without etcd it is not ready", 500, () => ask("GET", "/readyz", { isHealthy: false })],
  ["without etcd it is alive", 200, () => ask("GET", "/livez", { isHealthy: false })],
  ["without etcd there is no data", 500, () => ask("GET", "/api/v1/nodes", { isHealthy: false })],
  ["an unknown node is not found", 404, () => ask("GET", "/api/v1/nodes/two")],
  ["other resources are not found", 404, () => ask("GET", "/api/v1/pods")],
  ["nodes cannot be posted", 405, () => ask("POST", "/api/v1/nodes")],
  ["a patch must be JSON", 400, () => ask("PATCH", "/api/v1/nodes/one", { body: "{" })],
];

for (const [what, status, reply] of CASES) {
  Deno.test(`answerKubernetes(): ${what}`, () => assert.equal(reply().status, status));
}

Deno.test("answerKubernetes() lists nodes as ready until their kubelet is silent for long", () => {
  const nodes = tableOf("one");
  const readiness = (nowMs: number): unknown => {
    const { items } = bodyOf(ask("GET", "/api/v1/nodes", { nodes, nowMs })) as {
      items: { status: { conditions: { status: string }[] } }[];
    };
    return items[0]?.status.conditions[0]?.status;
  };
  assert.equal(readiness(2_000), "True");
  nodes.silence("one");
  assert.equal(readiness(2_000), "True");
  assert.equal(readiness(60_000), "Unknown");
});

Deno.test("answerKubernetes() deletes a node once", () => {
  const nodes = tableOf("one", "two");
  assert.equal(ask("DELETE", "/api/v1/nodes/one", { nodes }).status, 200);
  assert.equal(ask("DELETE", "/api/v1/nodes/one", { nodes }).status, 404);
  assert.deepEqual(nodes.list().map(({ spec }) => spec.name), ["two"]);
});

Deno.test("answerKubernetes() cordons a node", () => {
  const nodes = tableOf("one");
  const reply = ask("PATCH", "/api/v1/nodes/one", {
    nodes,
    body: JSON.stringify({ spec: { unschedulable: true } }),
  });
  assert.deepEqual(bodyOf(reply).spec, {
    unschedulable: true,
    taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }],
  });
});

Deno.test("answerKubernetes() watches changes after a version", async () => {
  const nodes = tableOf("one");
  const { body } = ask("GET", `/api/v1/nodes?watch=1&resourceVersion=${nodes.resourceVersion}`, {
    nodes,
  });
  assert.ok(body instanceof ReadableStream);
  const reader = body.getReader();
  nodes.remove("one");
  const { value = "" } = await reader.read();
  assert.equal(JSON.parse(value).type, "DELETED");
  await reader.cancel();
});
