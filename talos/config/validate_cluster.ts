// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of the cluster half of the main document.
 *
 * @module
 */

import {
  addError,
  addWarning,
  type Checks,
  endpointProblem,
  isSubnet,
  isTrue,
  pick,
  pickEntries,
  pickList,
  pickText,
  pickTexts,
  quote,
  splitUrl,
} from "./checks.ts";

const DNS_NAME = /^[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62}(?:\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*[._]?$/;

/** Kinds of authorizers that kube-apiserver may be given. */
export const AUTHORIZER_TYPES: readonly string[] = ["Node", "RBAC", "Webhook"];

/** Checks the cluster half; `undefined` when the document has none. */
export function checkCluster(checks: Checks, cluster: unknown, isControlPlane: boolean): void {
  if (cluster === undefined) {
    addError(checks, "cluster instructions are required", "cluster");
    return;
  }
  if (pick(cluster, "controlPlane") !== undefined) {
    const endpoint = pickText(cluster, "controlPlane.endpoint");
    const path = "cluster.controlPlane.endpoint";
    if (pick(cluster, "controlPlane.endpoint") === undefined) {
      addError(checks, "cluster controlplane endpoint is required", path);
      return;
    }
    const problem = endpointProblem(endpoint);
    if (problem !== undefined) addError(checks, `invalid controlplane endpoint: ${problem}`, path);
  }
  const domain = pickText(cluster, "network.dnsDomain");
  if (domain !== "" && (domain.replaceAll(".", "").length > 255 || !DNS_NAME.test(domain))) {
    addError(checks, `${quote(domain)} is not a valid DNS name`, "cluster.network.dnsDomain");
  }
  checkCloudProvider(checks, cluster);
  checkEtcd(checks, cluster, isControlPlane);
  if (!isControlPlane && pickText(cluster, "ca.key") !== "") {
    const message = "cluster CA key is not allowed on non-controlplane nodes (.cluster.ca)";
    addError(checks, message, "cluster.ca.key");
  }
  checkInlineManifests(checks, cluster);
  checkDiscovery(checks, cluster);
  checkApiServer(checks, cluster);
  for (const name of ["controllerManager", "scheduler"] as const) {
    const problem = resourceProblem(pick(cluster, `${name}.resources`));
    const title = name === "scheduler" ? name : "controller-manager";
    if (problem !== undefined) {
      addError(
        checks,
        `${title} resource validation failed: ${problem}`,
        `cluster.${name}.resources`,
      );
    }
  }
}

/** Why requested resources are refused, or `undefined`. */
export function resourceProblem(resources: unknown): string | undefined {
  for (const part of ["requests", "limits"]) {
    for (const [key] of pickEntries(resources, part)) {
      if (key !== "memory" && key !== "cpu") return `unsupported pod resource ${quote(key)}`;
    }
  }
  return undefined;
}

/** Checks the choice of a network plug-in; absence means Flannel. */
export function checkCni(checks: Checks, cni: unknown): void {
  const name = cni === undefined ? "flannel" : pickText(cni, "name");
  const path = "cluster.network.cni";
  const urls = pickTexts(cni, "urls");
  if (!["flannel", "custom", "none"].includes(name)) {
    addError(checks, `cni name should be one of ["flannel", "custom", "none"]`, `${path}.name`);
    return;
  }
  if (name === "custom") {
    if (urls.length === 0) {
      addWarning(checks, `"urls" field should not be empty for "custom" CNI`, path);
    }
  } else if (urls.length > 0) {
    addError(checks, `"urls" field should be empty for "${name}" CNI`, `${path}.urls`);
  }
  if (name === "flannel") return;
  if (pickList(cni, "flannel.extraArgs").length > 0) {
    const message = `"flanneldExtraArgs" field should be empty for "${name}" CNI`;
    addError(checks, message, `${path}.flannel.extraArgs`);
  }
  if (isTrue(cni, "flannel.kubeNetworkPoliciesEnabled")) {
    const message = `"flannelKubeNetworkPoliciesEnabled" should not be enabled for "${name}" CNI`;
    addError(checks, message, `${path}.flannel.kubeNetworkPoliciesEnabled`);
  }
  if (name !== "custom") return;
  for (const url of urls) {
    const problem = endpointProblem(url);
    if (problem !== undefined) addError(checks, problem, `${path}.urls`);
  }
}

function checkCloudProvider(checks: Checks, cluster: unknown): void {
  const provider = pick(cluster, "externalCloudProvider");
  const path = "cluster.externalCloudProvider";
  const manifests = pickTexts(provider, "manifests");
  if (!isTrue(provider, "enabled") && manifests.length > 0) {
    addError(checks, "external cloud provider is disabled, but manifests are provided", path);
    return;
  }
  for (const url of manifests) {
    const problem = endpointProblem(url);
    if (problem === undefined) continue;
    const message = `invalid external cloud provider manifest url ${quote(url)}: ${problem}`;
    addError(checks, message, `${path}.manifests`);
  }
}

function checkEtcd(checks: Checks, cluster: unknown, isControlPlane: boolean): void {
  const etcd = pick(cluster, "etcd");
  if (etcd === undefined) return;
  if (!isControlPlane) {
    addError(checks, "etcd config is only allowed on control plane machines", "cluster.etcd");
    return;
  }
  if (pick(etcd, "ca") === undefined) {
    addError(checks, "key/cert combination should not be empty", "cluster.etcd.ca");
  }
  const subnet = pickText(etcd, "subnet");
  const advertised = pickTexts(etcd, "advertisedSubnets");
  if (subnet !== "" && advertised.length > 0) {
    const message = "etcd subnet can't be set when advertised subnets are set";
    addError(checks, message, "cluster.etcd.subnet");
  }
  const checkSubnets = (subnets: readonly string[], what: string, field: string) => {
    for (const text of subnets) {
      if (isSubnet(text)) continue;
      const message = `etcd ${what} subnet is not valid: ${quote(text.replace(/^!/, ""))}`;
      addError(checks, message, `cluster.etcd.${field}`);
    }
  };
  checkSubnets(
    advertised.length > 0 || subnet === "" ? advertised : [subnet],
    "advertised",
    "advertisedSubnets",
  );
  const listen = pickTexts(etcd, "listenSubnets");
  checkSubnets(listen.length > 0 ? listen : advertised, "listen", "listenSubnets");
}

function checkInlineManifests(checks: Checks, cluster: unknown): void {
  const seen = new Set<string>();
  for (const [i, manifest] of pickList(cluster, "inlineManifests").entries()) {
    const name = pickText(manifest, "name");
    const path = `cluster.inlineManifests[${i}]`;
    if (name.trim() === "") addError(checks, "inline manifest name can't be empty", path);
    if (seen.has(name)) addError(checks, `inline manifest name ${quote(name)} is duplicate`, path);
    seen.add(name);
  }
}

function checkDiscovery(checks: Checks, cluster: unknown): void {
  const discovery = pick(cluster, "discovery");
  if (!isTrue(discovery, "enabled") || isTrue(discovery, "registries.service.disabled")) return;
  const endpoint = pickText(discovery, "registries.service.endpoint");
  const path = "cluster.discovery.registries.service.endpoint";
  if (endpoint !== "") {
    const { scheme, path: urlPath } = splitUrl(endpoint);
    if (scheme === "" && !endpoint.startsWith("/")) {
      const problem = `parse ${quote(endpoint)}: invalid URI for request`;
      addError(checks, `cluster discovery service registry endpoint is invalid: ${problem}`, path);
    } else if (urlPath !== "" && urlPath !== "/") {
      addError(checks, "cluster discovery service path should be empty", path);
    }
  }
  for (const field of ["id", "secret"]) {
    if (pickText(cluster, field) !== "") continue;
    addError(checks, `cluster discovery service requires .cluster.${field}`, `cluster.${field}`);
  }
}

function checkApiServer(checks: Checks, cluster: unknown): void {
  const server = pick(cluster, "apiServer");
  const problem = authorizationProblem(server);
  if (problem !== undefined) {
    addError(checks, problem, "cluster.apiServer.authorizationConfig");
    return;
  }
  const resources = resourceProblem(pick(server, "resources"));
  if (resources !== undefined) {
    const message = `apiserver resource validation failed: ${resources}`;
    addError(checks, message, "cluster.apiServer.resources");
  }
}

function authorizationProblem(server: unknown): string | undefined {
  const authorizers = pick(server, "authorizationConfig");
  if (!Array.isArray(authorizers)) return undefined;
  for (const [argument] of pickEntries(server, "extraArgs")) {
    if (argument === "authorization-mode") {
      // The doubled letter is in the message that people look up.
      return "authorization-mode cannot be used in conjunction with AuthorizationConfig, " +
        "use eitherr AuthorizationConfig or authorization-mode";
    }
    if (argument.startsWith("authorization-webhook-")) {
      return "authorization-webhook-* flags cannot be used in conjunction with AuthorizationConfig, " +
        "use either AuthorizationConfig or authorization-webhook-* flags";
    }
  }
  for (const authorizer of authorizers) {
    const type = pickText(authorizer, "type");
    const reason = type === ""
      ? "authorizer type must be set"
      : pickText(authorizer, "name") === ""
      ? "authorizer name must be set"
      : AUTHORIZER_TYPES.includes(type)
      ? undefined
      : `authorizer type ${type} is not allowed, allowed types are [${AUTHORIZER_TYPES.join(" ")}]`;
    if (reason !== undefined) return `apiserver authorization config validation failed: ${reason}`;
  }
  return undefined;
}
