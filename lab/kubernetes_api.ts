// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The small part of the Kubernetes API that an emulated control plane answers: version, health and
 * nodes.
 *
 * As on Talos, nobody is anonymous: a request without a certificate of the cluster's authority is
 * refused, health included. Only `system:masters` may touch nodes.
 *
 * @module
 */

import type { NodeRecord, NodeTable } from "./node_table.ts";
import { isTree } from "./machine_config.ts";

/** Who asks: what the client certificate says. */
export interface KubernetesUser {
  readonly name: string;
  readonly groups: readonly string[];
}

/** A request. */
export interface KubernetesRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: KubernetesUser | undefined;
  readonly body: string;
}

/** A reply: one text, or a stream of lines that ends with the connection. */
export interface KubernetesReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | ReadableStream<string>;
}

/** What the handler answers from. */
export interface KubernetesState {
  readonly nodes: NodeTable;
  /** Whether etcd answers. */
  isHealthy(): boolean;
  /** With `v`. */
  readonly version: string;
  nowMs(): number;
}

/** How long a kubelet may be silent before its node is not ready; the upstream default. */
const NODE_GRACE_MS = 40_000;

/** Paths that every authenticated user may read. */
const PUBLIC = /^\/(?:version|api|apis|healthz|(?:livez|readyz)(?:\/[a-z0-9-]+)?)\/?$/;

/** Answers one request. */
export function answerKubernetes(
  request: KubernetesRequest,
  state: KubernetesState,
): KubernetesReply {
  const { method, path, user } = request;
  if (user === undefined) return failure(401, "Unauthorized", "Unauthorized");
  const isPublic = method === "GET" && PUBLIC.test(path);
  if (!isPublic && !user.groups.includes("system:masters")) {
    return failure(
      403,
      "Forbidden",
      `User "${user.name}" cannot ${method.toLowerCase()} path "${path}"`,
    );
  }
  if (/^\/(?:healthz|livez|readyz)/.test(path)) return health(path, state);
  if (!state.isHealthy()) return failure(500, "InternalError", "etcdserver: no leader");
  if (method === "GET" && path === "/version") return json(200, versionOf(state.version));
  if (method === "GET" && path === "/api") {
    return json(200, { kind: "APIVersions", versions: ["v1"] });
  }
  if (method === "GET" && path === "/apis") {
    return json(200, { kind: "APIGroupList", apiVersion: "v1", groups: [] });
  }
  if (method === "GET" && path === "/api/v1") return json(200, RESOURCES);
  const match = /^\/api\/v1\/nodes(?:\/([a-z0-9.-]+))?\/?$/.exec(path);
  if (match === null) {
    return failure(404, "NotFound", "the server could not find the requested resource");
  }
  return match[1] === undefined
    ? nodeCollection(request, state)
    : oneNode(match[1], request, state);
}

const RESOURCES = {
  kind: "APIResourceList",
  groupVersion: "v1",
  resources: [{
    name: "nodes",
    singularName: "node",
    namespaced: false,
    kind: "Node",
    verbs: ["delete", "get", "list", "patch", "watch"],
    shortNames: ["no"],
  }],
};

function health(path: string, state: KubernetesState): KubernetesReply {
  // A process without etcd is alive but not ready.
  const isGood = state.isHealthy() || path.startsWith("/livez");
  return {
    status: isGood ? 200 : 500,
    contentType: "text/plain; charset=utf-8",
    body: isGood ? "ok" : `[-]etcd failed: reason withheld\n${path.slice(1)} check failed\n`,
  };
}

function nodeCollection(request: KubernetesRequest, state: KubernetesState): KubernetesReply {
  if (request.method !== "GET") {
    return failure(
      405,
      "MethodNotAllowed",
      "the server does not allow this method on the requested resource",
    );
  }
  if (/^(?:1|true)$/.test(request.query.get("watch") ?? "")) return watchNodes(request, state);
  return json(200, {
    kind: "NodeList",
    apiVersion: "v1",
    metadata: { resourceVersion: String(state.nodes.resourceVersion) },
    items: state.nodes.list().map((node) => renderNode(node, state.nowMs())),
  });
}

function watchNodes(
  request: KubernetesRequest,
  { nodes, nowMs }: KubernetesState,
): KubernetesReply {
  const from = Number(request.query.get("resourceVersion") ?? "0");
  let unsubscribe = (): void => {};
  const line = (type: string, node: NodeRecord): string =>
    JSON.stringify({ type, object: renderNode(node, nowMs()) }) + "\n";
  const body = new ReadableStream<string>({
    start: (controller) => {
      // There is no history: what changed after the asked version is told as it is now.
      for (const node of nodes.list()) {
        if (node.resourceVersion > from) controller.enqueue(line("ADDED", node));
      }
      unsubscribe = nodes.subscribe(({ type, node }) => controller.enqueue(line(type, node)));
    },
    cancel: () => unsubscribe(),
  });
  return { status: 200, contentType: "application/json", body };
}

function oneNode(
  name: string,
  { method, body }: KubernetesRequest,
  { nodes, nowMs }: KubernetesState,
): KubernetesReply {
  const node = nodes.find(name);
  if (node === undefined) return failure(404, "NotFound", `nodes "${name}" not found`);
  switch (method) {
    case "GET":
      return json(200, renderNode(node, nowMs()));
    case "DELETE":
      nodes.remove(name);
      return json(200, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Success",
        details: { name, kind: "nodes", uid: node.uid },
      });
    case "PATCH":
      return patchNode(node, body, nodes, nowMs());
    default:
      return failure(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
      );
  }
}

/** Of a node only `spec.unschedulable` can be patched, which is what cordoning does. */
function patchNode(
  node: NodeRecord,
  body: string,
  nodes: NodeTable,
  nowMs: number,
): KubernetesReply {
  let patch: unknown;
  try {
    patch = JSON.parse(body);
  } catch {
    return failure(400, "BadRequest", "the patch is not JSON");
  }
  const spec = isTree(patch) && isTree(patch.spec) ? patch.spec : undefined;
  if (spec === undefined || !("unschedulable" in spec)) {
    return failure(422, "Invalid", "only spec.unschedulable can be patched here");
  }
  const patched = nodes.edit(node.spec.name, { unschedulable: spec.unschedulable === true });
  return json(200, renderNode(patched ?? node, nowMs));
}

function renderNode(node: NodeRecord, nowMs: number): unknown {
  const { spec } = node;
  const isSilent = node.silentSinceMs !== undefined && nowMs - node.silentSinceMs > NODE_GRACE_MS;
  const ready = isSilent ? "Unknown" : node.isReady ? "True" : "False";
  const role = spec.isControlPlane ? { "node-role.kubernetes.io/control-plane": "" } : {};
  const taints = spec.isControlPlane
    ? { taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }] }
    : {};
  return {
    kind: "Node",
    apiVersion: "v1",
    metadata: {
      name: spec.name,
      uid: node.uid,
      resourceVersion: String(node.resourceVersion),
      creationTimestamp: timestamp(node.createdMs),
      labels: {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": spec.name,
        "kubernetes.io/os": "linux",
        ...role,
        ...spec.labels,
      },
    },
    spec: { ...(node.unschedulable ? { unschedulable: true } : {}), ...taints },
    status: {
      addresses: [
        ...spec.addresses.map((address) => ({ type: "InternalIP", address })),
        { type: "Hostname", address: spec.name },
      ],
      conditions: [{
        type: "Ready",
        status: ready,
        reason: ready === "True"
          ? "KubeletReady"
          : isSilent
          ? "NodeStatusUnknown"
          : "KubeletNotReady",
        lastHeartbeatTime: timestamp(node.silentSinceMs ?? nowMs),
        lastTransitionTime: timestamp(node.createdMs),
      }],
      nodeInfo: {
        kubeletVersion: spec.kubeletVersion,
        osImage: spec.osImage,
        operatingSystem: "linux",
        architecture: "amd64",
        kernelVersion: "6.12.0-talos",
        containerRuntimeVersion: "containerd://2.1.0",
        machineID: spec.machineId.replaceAll("-", ""),
        systemUUID: spec.machineId,
        bootID: "",
        kubeProxyVersion: "",
      },
    },
  };
}

function versionOf(version: string): unknown {
  const [major = "", minor = ""] = version.replace(/^v/, "").split(".");
  return { major, minor, gitVersion: version, platform: "linux/amd64", goVersion: "go1.25.0" };
}

function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

function json(status: number, value: unknown): KubernetesReply {
  return { status, contentType: "application/json", body: JSON.stringify(value) };
}

function failure(code: number, reason: string, message: string): KubernetesReply {
  return json(code, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    reason,
    code,
  });
}
