// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The Kubernetes side of a machine: the kubelet with its node, and on control planes the API.
 *
 * @module
 */

import type { X509Certificate } from "node:crypto";
import type { ByteStream } from "../rpc/stream.ts";
import { wrapTlsServer } from "../rpc/tls.ts";
import { issueApiServerCertificate } from "../talos/config/certificates.ts";
import type { CertificateAndKey } from "../talos/config/pki.ts";
import { type Boot, isControlPlane } from "./boot.ts";
import { isIssuedBy } from "../rpc/client_certificate.ts";
import { serveHttp } from "./http.ts";
import { isAddress } from "./join.ts";
import { answerKubernetes, type KubernetesUser } from "./kubernetes_api.ts";
import { countCall } from "./machine_core.ts";
import { publishNodeStatus } from "./network.ts";
import { untilAny } from "./signal.ts";
import { publishStatus, setService } from "./status.ts";
import type { ClusterWorld } from "./world.ts";

/** The first address of the default service network. */
const SERVICE_ADDRESS = "10.96.0.1";

/** Keeps the machine's node while the power is on. */
export async function runKubelet(boot: Boot, cluster: ClusterWorld): Promise<void> {
  const { core, signal } = boot;
  const { nodes, changed } = cluster;
  setService(boot, "kubelet", "Running", "Health check successful");
  await changed.until(() => cluster.apiServers.size > 0, signal);
  const name = boot.hostname;
  const version = `v${boot.config?.facts.kubernetesVersion ?? "1.34.1"}`;
  nodes.register({
    name,
    machineId: core.hardware.uuid,
    addresses: [core.hardware.address],
    labels: boot.config?.facts.nodeLabels ?? {},
    isControlPlane: isControlPlane(boot),
    kubeletVersion: version,
    osImage: `Talos (${boot.version})`,
  });
  const unsubscribe = nodes.subscribe(({ node }) => {
    if (node.spec.name === name) publishNodeStatus(boot, cluster);
  });
  try {
    publishNodeStatus(boot, cluster);
    await core.clock.sleep(core.pace.nodeReadyMs, signal);
    signal.throwIfAborted();
    nodes.edit(name, { isReady: true });
    boot.isNodeReady = true;
    publishStatus(boot);
    await changed.until(() => false, signal);
  } finally {
    unsubscribe();
    nodes.silence(name);
  }
}

/** Serves the Kubernetes API of a control plane while its etcd runs. */
export async function runApiServer(boot: Boot, cluster: ClusterWorld): Promise<void> {
  const { core, signal } = boot;
  const isServing = (): boolean => {
    const id = core.disk.etcdMemberId;
    return id !== undefined && cluster.etcd.isRunning(id) && boot.tunnel !== undefined;
  };
  // Either side may change: the machine's tunnel or the cluster's etcd.
  const wait = (condition: () => boolean): Promise<void> =>
    untilAny([core.changed, cluster.changed], condition, signal);
  while (!signal.aborted) {
    await wait(isServing);
    await core.clock.sleep(core.pace.serviceMs, signal);
    const { tunnel } = boot;
    if (signal.aborted || tunnel === undefined) continue;
    const listener = await tunnel.net.listen(boot.config?.facts.apiServerPort ?? 6443);
    const open = new Set<ByteStream>();
    const certificate = await apiServerCertificate(boot);
    const serving = (async () => {
      for await (const { stream } of listener) {
        open.add(stream);
        void serveClient(boot, cluster, certificate, stream).finally(() => open.delete(stream));
      }
    })();
    cluster.apiServers.add(core.hardware.uuid);
    cluster.changed.fire();
    try {
      await wait(() => !isServing() || boot.tunnel !== tunnel);
    } finally {
      cluster.apiServers.delete(core.hardware.uuid);
      cluster.changed.fire();
      listener.close();
      for (const stream of open) stream.close();
      await serving;
    }
  }
}

/** The certificate for every name that the API is reached by. */
async function apiServerCertificate(boot: Boot): Promise<CertificateAndKey> {
  const { config, core, tunnel } = boot;
  const ca = config?.facts.kubernetesCa;
  if (config === undefined || ca?.key === undefined) {
    throw new TypeError("a control plane without its Kubernetes authority passed validation");
  }
  const endpoint = URL.parse(config.facts.endpoint ?? "")?.hostname.replace(/^\[|\]$/g, "") ?? "";
  const names = [endpoint, ...config.facts.apiServerSans].filter((name) => name !== "");
  return await issueApiServerCertificate({ crt: ca.crt, key: ca.key }, {
    nowMs: core.clock.nowMs(),
    dnsNames: [
      "kubernetes",
      "kubernetes.default",
      "kubernetes.default.svc",
      "localhost",
      boot.hostname,
      ...names.filter((name) => !isAddress(name)),
    ],
    ipAddresses: [
      ...new Set([
        "127.0.0.1",
        SERVICE_ADDRESS,
        core.hardware.address,
        ...(tunnel === undefined ? [] : [tunnel.address]),
        ...names.filter(isAddress),
      ]),
    ],
  });
}

async function serveClient(
  boot: Boot,
  cluster: ClusterWorld,
  certificate: CertificateAndKey,
  stream: ByteStream,
): Promise<void> {
  const { config, core } = boot;
  const facts = config?.facts;
  try {
    const authority = facts?.kubernetesCa?.crt ?? "";
    const secure = await wrapTlsServer(stream, {
      cert: certificate.crt,
      key: certificate.key,
      ca: authority,
      requestClientCert: "request",
      alpn: ["http/1.1"],
    });
    const user = userOf(secure.peerCertificate, authority, core.clock.nowMs());
    await serveHttp(secure, ({ method, target, body }) => {
      countCall(core, "Kubernetes");
      const [path = "/", query = ""] = target.split("?", 2);
      return answerKubernetes({ method, path, query: new URLSearchParams(query), user, body }, {
        nodes: cluster.nodes,
        isHealthy: () => cluster.etcd.hasQuorum(),
        version: `v${facts?.kubernetesVersion ?? "1.34.1"}`,
        nowMs: () => core.clock.nowMs(),
      });
    });
  } catch {
    // A client that fails the handshake learned that from TLS.
    stream.close();
  }
}

/** What a client certificate says; without one of the cluster's authority the user is nobody. */
function userOf(
  certificate: X509Certificate | undefined,
  authority: string,
  nowMs: number,
): KubernetesUser | undefined {
  if (certificate === undefined || !isIssuedBy(certificate, authority, nowMs)) return undefined;
  const parts = certificate.subject.split(/\n|\+/).map((part) => part.trim());
  const valuesOf = (key: string): string[] =>
    parts.filter((part) => part.startsWith(`${key}=`)).map((part) => part.slice(key.length + 1));
  return { name: valuesOf("CN")[0] ?? "", groups: valuesOf("O") };
}
