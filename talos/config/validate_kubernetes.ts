// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about Kubernetes.
 *
 * @module
 */

import { TALOS_ROLES } from "./certificates.ts";
import {
  addError,
  addWarning,
  type Checks,
  type DocumentCheck,
  endpointProblem,
  isSubnet,
  pick,
  pickEntries,
  pickNumber,
  pickText,
  pickTexts,
  quote,
  splitUrl,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { formatErrors } from "./error_list.ts";
import {
  annotationProblems,
  labelProblems,
  subdomainProblem,
  taintProblems,
} from "./kubernetes_names.ts";
import { decodePem } from "./pem.ts";
import { AUTHORIZER_TYPES, resourceProblem } from "./validate_cluster.ts";
import { PROTECTED_KUBELET_FIELDS } from "./validate_main.ts";
import { checkSubnets } from "./validate_subnets.ts";

/** Checks by kind. */
export const KUBERNETES_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  KubeAPIServerCAConfig: (checks, value) => checkAuthority(checks, value),
  KubeAPIServerConfig: checkApiServer,
  KubeAdmissionControlConfig: (checks, value) => {
    if (pickText(value, "name") !== "") return;
    addError(checks, "admission control plugin name is required", "name");
  },
  KubeAggregatorCAConfig: (checks, value) => {
    if (pick(value, "issuingCA") === undefined) {
      addError(checks, "issuing CA is not set", "issuingCA");
    }
    checkAuthority(checks, value);
  },
  KubeAuthorizerConfig: checkAuthorizer,
  KubeClusterConfig: (checks, value) => {
    if (pickText(value, "clusterName") === "") {
      addError(checks, "clusterName must be specified", "clusterName");
    }
    const endpoint = pickText(value, "endpoint");
    const problem = endpointProblem(endpoint);
    if (endpoint === "") addError(checks, "endpoint must be specified", "endpoint");
    else if (problem !== undefined) {
      addError(checks, `cluster endpoint is invalid: ${problem}`, "endpoint");
    }
  },
  KubeControllerManagerConfig: (checks, value) =>
    checkPod(checks, value, "kube-controller-manager"),
  KubeEtcdEncryptionConfig: (checks, value) => {
    if (pickEntries(value, "config").length > 0) return;
    addError(checks, "etcd encryption config is required", "config");
  },
  KubeExternalManifestConfig: (checks, value) => {
    checkObjectName(checks, value, "manifest");
    const url = pickText(value, "url");
    const { scheme } = splitUrl(url);
    if (url === "") addError(checks, "manifest URL is required", "url");
    else if (scheme !== "http" && scheme !== "https") {
      addError(checks, `manifest URL scheme must be http or https: ${quote(scheme)}`, "url");
    }
  },
  KubeFlannelCNIConfig: (checks, value) => {
    if (pickText(value, "backendType") === "") {
      addError(checks, "flannel backend type must be specified", "backendType");
    }
    checkResources(checks, value);
  },
  KubeInlineManifestConfig: (checks, value) => checkObjectName(checks, value, "manifest"),
  KubeNetworkConfig: checkSubnets,
  KubeNodeConfig: checkNode,
  KubePrismConfig: (checks, value) => {
    const port = pickNumber(value, "port");
    if (port > 0 && port <= 65_535) return;
    addError(checks, `invalid port ${port}: must be in range 1-65535`, "port");
  },
  KubeProxyConfig: checkProxy,
  KubeSchedulerConfig: (checks, value) => checkPod(checks, value, "scheduler"),
  KubeServiceAccountConfig: (checks, value) => {
    const key = pickText(value, "issuer.privateKey");
    const path = "issuer.privateKey";
    if (key === "") addError(checks, "service issuer private key is required", path);
    else if (blocksOf(key).length === 0) {
      addError(checks, "service issuer private key is invalid: failed to parse PEM block", path);
    }
    if (pickText(value, "issuer.issuerURL") === "") {
      addError(checks, "service issuer URL is required", "issuer.issuerURL");
    }
  },
  KubeStaticPodConfig: (checks, value) => {
    checkObjectName(checks, value, "static pod");
    if (pickEntries(value, "pod").length === 0) {
      addError(checks, "static pod spec is required", "pod");
    }
  },
  KubeTalosAPIAccessConfig: (checks, value) => {
    for (const role of pickTexts(value, "allowedRoles")) {
      if ((TALOS_ROLES as readonly string[]).includes(role)) continue;
      addError(checks, `invalid role ${quote(role)} in .allowedRoles`, "allowedRoles");
    }
  },
  KubeletConfig: (checks, value) => {
    if (pickText(value, "image") === "") {
      addError(checks, "kubelet image cannot be empty", "image");
    }
    for (const field of PROTECTED_KUBELET_FIELDS) {
      if (pick(value, `config.${field}`) === undefined) continue;
      const message = `kubelet configuration field ${quote(field)} can't be overridden`;
      addError(checks, message, `config.${field}`);
    }
  },
};

/** Labels of PEM blocks; empty for a text that is none. */
function blocksOf(pem: string): readonly string[] {
  try {
    return decodePem(pem).map(({ label }) => label);
  } catch {
    return [];
  }
}

/** Why a text is no certificate in PEM, or `undefined`. */
function certificateProblem(pem: string): string | undefined {
  const labels = blocksOf(pem);
  if (labels.length === 0) return "no PEM blocks found";
  const other = labels.find((label) => label !== "CERTIFICATE");
  return other === undefined
    ? undefined
    : `unexpected PEM block type ${quote(other)}, expected one of ["CERTIFICATE"]`;
}

function checkAuthority(checks: Checks, value: Fields): void {
  const issuing = pick(value, "issuingCA");
  if (issuing !== undefined) {
    const problem = pemPairProblem(issuing);
    if (problem !== undefined) addError(checks, `issuing CA: ${problem}`, "issuingCA");
  }
  for (const [i, authority] of pickTexts(value, "acceptedCAs").entries()) {
    const problem = certificateProblem(authority);
    if (problem !== undefined) {
      addError(checks, `accepted CA #${i}: ${problem}`, `acceptedCAs[${i}]`);
    }
  }
}

/** Why a certificate and its key in PEM are refused, or `undefined`. */
export function pemPairProblem(authority: unknown): string | undefined {
  const [cert, key] = [pickText(authority, "cert"), pickText(authority, "key")];
  if (cert === "") return "certificate is required";
  if (key === "") return "key is required";
  const problem = certificateProblem(cert);
  if (problem !== undefined) return `certificate: ${problem}`;
  return blocksOf(key).length === 0 ? "key: no PEM blocks found" : undefined;
}

/** Arguments of kube-apiserver that documents of their own set. */
const DENIED_ARGUMENTS: readonly (readonly [prefix: string, instead: string])[] = [
  ["anonymous-auth", "use KubeAuthenticationConfig"],
  ["authentication-config", "use KubeAuthenticationConfig"],
  ["authorization-config", "use KubeAuthorizationConfig"],
  ["authorization-mode", "use KubeAuthorizationConfig"],
  ["authorization-webhook-", "use KubeAuthorizationConfig"],
  ["oidc-", "use KubeAuthenticationConfig"],
];

function checkApiServer(checks: Checks, value: Fields): void {
  if (pickText(value, "image") === "") {
    addError(checks, "kube-apiserver image cannot be empty", "image");
  }
  for (const [prefix, instead] of DENIED_ARGUMENTS) {
    for (const [argument] of pickEntries(value, "extraArgs")) {
      if (!argument.startsWith(prefix)) continue;
      const message = `kube-apiserver extra argument ${quote(argument)} is not allowed: ${instead}`;
      addError(checks, message, `extraArgs.${argument}`);
    }
  }
  checkResources(checks, value);
}

function checkResources(checks: Checks, value: Fields): void {
  const problem = resourceProblem(pick(value, "resources"));
  if (problem !== undefined) addError(checks, problem, "resources");
}

function checkPod(checks: Checks, value: Fields, name: string): void {
  if (pick(value, "enabled") === false) return;
  if (pickText(value, "image") === "") addError(checks, `${name} image cannot be empty`, "image");
  checkResources(checks, value);
}

function checkAuthorizer(checks: Checks, value: Fields): void {
  const type = pickText(value, "type");
  const hasWebhook = pickEntries(value, "webhook").length > 0;
  if (pickText(value, "name") === "") addError(checks, "authorizer name is required", "name");
  if (type === "") addError(checks, "authorizer type is required", "type");
  if (!AUTHORIZER_TYPES.includes(type)) {
    const allowed = AUTHORIZER_TYPES.join(" ");
    const message = `authorizer type ${type} is not allowed, allowed types are [${allowed}]`;
    addError(checks, message, "type");
  }
  if (type === "Webhook" && !hasWebhook) {
    const message = "authorizer webhook configuration is required for Webhook authorizer type";
    addError(checks, message, "webhook");
  }
  if (type !== "Webhook" && hasWebhook) {
    const message = "authorizer webhook configuration is not allowed non-Webhook authorizer types";
    addWarning(checks, message, "webhook");
  }
}

function checkObjectName(checks: Checks, value: Fields, what: string): void {
  const name = pickText(value, "name");
  const problem = subdomainProblem(name);
  if (name === "") addError(checks, `${what} name is required`, "name");
  else if (problem !== undefined) addError(checks, `${what} name is invalid: ${problem}`, "name");
}

function checkNode(checks: Checks, value: Fields): void {
  for (const subnet of pickTexts(value, "nodeIP.validSubnets")) {
    if (isSubnet(subnet)) continue;
    const message = `nodeIP subnet is not valid: ${quote(subnet.replace(/^!/, ""))}`;
    addError(checks, message, "nodeIP.validSubnets");
  }
  for (
    const [field, findProblems] of [
      ["labels", labelProblems],
      ["annotations", annotationProblems],
      ["taints", taintProblems],
    ] as const
  ) {
    const problems = findProblems(pickEntries(value, field));
    if (problems.length === 0) continue;
    addError(checks, `invalid node ${field}: ${formatErrors(problems)}`, field);
  }
}

function checkProxy(checks: Checks, value: Fields): void {
  if (pick(value, "enabled") === false) return;
  const mode = pickText(value, "mode");
  if (pickText(value, "image") === "") addError(checks, "proxy image cannot be empty", "image");
  if (mode === "iptables" || mode === "ipvs") {
    const message = `proxy mode ${
      quote(mode)
    } is not recommended, please switch to nftables if possible`;
    addWarning(checks, message, "mode");
  } else if (mode !== "" && mode !== "nftables") {
    const message = `invalid proxy mode ${
      quote(mode)
    }: supported modes are iptables, ipvs and nftables`;
    addError(checks, message, "mode");
  }
  if (pickEntries(value, "extraArgs").length > 0) {
    addWarning(
      checks,
      "extra arguments for kube-proxy may not work as expected, please use configuration instead",
      "extraArgs",
    );
  }
  checkResources(checks, value);
}
