// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Checks of documents about the operating system, its registries and its server.
 *
 * @module
 */

import { parseDuration } from "../../base/duration.ts";
import { celProblem } from "./cel_check.ts";
import {
  addError,
  addWarning,
  type Checks,
  type DocumentCheck,
  isTrue,
  pick,
  pickEntries,
  pickList,
  pickText,
  quote,
  requireName,
  splitUrl,
} from "./checks.ts";
import type { Fields } from "./decode.ts";
import { qualifiedNameProblem } from "./kubernetes_names.ts";
import { decodePem, encodePem } from "./pem.ts";
import { parseCertificate } from "./pki.ts";
import { wireguardKeyProblem } from "./validate_interfaces.ts";
import { pemPairProblem } from "./validate_kubernetes.ts";

/** Shortest time after which a watchdog may fire, in seconds. */
const MIN_WATCHDOG_TIMEOUT_S = 10;

/** Checks by kind. */
export const SYSTEM_CHECKS: Readonly<Record<string, DocumentCheck>> = {
  CRICustomizationConfig: (checks, value) => {
    const problem = qualifiedNameProblem(pickText(value, "name"));
    if (problem !== undefined) addError(checks, `invalid name: ${problem}`, "name");
  },
  DiscoveryIdentityConfig: (checks, value) => {
    const secret = pickText(value, "clusterSecret");
    if (pickText(value, "clusterID") === "") {
      addError(checks, "clusterID is required", "clusterID");
    } else if (secret === "") addError(checks, "clusterSecret is required", "clusterSecret");
    else if (wireguardKeyProblem(secret) !== undefined) {
      // It has the form of a WireGuard key: base64 of 32 bytes.
      // Talos repeats the secret here, which no log should see.
      addError(checks, "invalid clusterSecret: want base64 of 32 bytes", "clusterSecret");
    }
  },
  DiscoveryServiceConfig: (checks, value) => {
    const endpoint = pickText(value, "endpoint");
    const { scheme, host } = splitUrl(endpoint);
    const problem = pickText(value, "name") === ""
      ? "name is required"
      : endpoint === ""
      ? "endpoint is required"
      : scheme === ""
      ? "endpoint scheme is required"
      : !["http", "https", "grpc"].includes(scheme)
      ? "endpoint scheme must be http://, https:// or grpc://"
      : host === ""
      ? "endpoint host is required"
      : undefined;
    if (problem !== undefined) {
      addError(checks, problem, problem.startsWith("name") ? "name" : "endpoint");
    }
  },
  EnvironmentConfig: (checks, value) => {
    for (const [name] of pickEntries(value, "variables")) {
      if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) continue;
      addError(checks, `invalid environment variable name: ${quote(name)}`, "variables");
    }
  },
  EventSinkConfig: (checks, value) => {
    const endpoint = pickText(value, "endpoint");
    if (/^(?:\[[^[\]]*\]|[^:[\]]*):[^:[\]]*$/.test(endpoint)) return;
    const reason = endpoint.split(":").length > 2 && !endpoint.startsWith("[")
      ? "too many colons in address"
      : "missing port in address";
    const prefix = endpoint === "" ? "" : `address ${endpoint}: `;
    addError(checks, `event sink endpoint: ${prefix}${reason}`, "endpoint");
  },
  ExtensionServiceConfig: checkExtensionService,
  ImageVerificationConfig: checkImageVerification,
  KernelModuleConfig: (checks, value) => requireName(checks, value, "name is required"),
  KmsgLogConfig: (checks, value) => {
    const url = pickText(value, "url");
    const { scheme, path, port } = splitUrl(url);
    const problem = pickText(value, "name") === ""
      ? "name is required"
      : url === ""
      ? "url is required"
      : scheme !== "tcp" && scheme !== "udp"
      ? "url scheme must be tcp:// or udp://"
      : path !== "" && path !== "/"
      ? "url path must be empty"
      : port === ""
      ? "url port is required"
      : undefined;
    if (problem !== undefined) {
      addError(checks, problem, problem.startsWith("name") ? "name" : "url");
    }
  },
  OOMConfig: (checks, value) => {
    for (
      const [field, what] of [
        ["triggerExpression", "trigger"],
        ["cgroupRankingExpression", "cgroup scoring"],
      ] as const
    ) {
      const expression = pickText(value, field);
      const problem = expression === "" ? undefined : celProblem(expression);
      if (problem !== undefined) {
        addError(checks, `OOM ${what} expression is invalid: ${problem}`, field);
      }
    }
    if (pickText(value, "sampleInterval").startsWith("-")) {
      addError(checks, "OOM sample interval must be longer than 0", "sampleInterval");
    }
  },
  RegistryAuthConfig: (checks, value) => {
    requireName(checks, value);
    const has = (field: string) => pickText(value, field) !== "";
    if (has("username") && has("identityToken")) {
      const message =
        "only one of username/password or identityToken authentication can be specified";
      addError(checks, message);
    }
    if (has("auth") && (has("username") || has("identityToken"))) {
      const message =
        "only one of auth, username/password or identityToken authentication can be specified";
      addError(checks, message);
    }
  },
  RegistryMirrorConfig: (checks, value) => {
    requireName(checks, value);
    for (const [i, endpoint] of pickList(value, "endpoints").entries()) {
      const url = pickText(endpoint, "url");
      const { scheme } = splitUrl(url);
      const path = `endpoints[${i}].url`;
      if (url === "") addError(checks, `${path} must be specified`, path);
      else if (scheme !== "http" && scheme !== "https") {
        addError(checks, `${path} has unsupported scheme: ${quote(scheme)}`, path);
      }
    }
  },
  RegistryTLSConfig: checkRegistryTls,
  SideroLinkConfig: (checks, value) => {
    const url = pickText(value, "apiUrl");
    const { scheme, path } = splitUrl(url);
    const problem = url === ""
      ? "apiUrl is required"
      : scheme !== "https" && scheme !== "grpc"
      ? "apiUrl scheme must be https:// or grpc://"
      : path !== "" && path !== "/"
      ? "apiUrl path must be empty"
      : undefined;
    if (problem !== undefined) addError(checks, problem, "apiUrl");
  },
  UnattendedInstallConfig: (checks, value) => {
    if (pickText(value, "installer.image") === "") {
      const message = "installer.image is not set, if Talos is not booted from asset built by " +
        "Image Factory, installation will fail";
      addWarning(checks, message, "installer.image");
    }
    const match = pickText(value, "provisioning.diskSelector.match");
    const path = "provisioning.diskSelector.match";
    const problem = match === "" ? undefined : celProblem(match);
    if (match === "") addError(checks, "provisioning.volumeSelector.match is required", path);
    if (problem !== undefined) {
      addError(checks, `provisioning.volumeSelector.match: ${problem}`, path);
    }
  },
  WatchdogTimerConfig: (checks, value) => {
    const timeout = pickText(value, "timeout");
    if (pickText(value, "device") === "") {
      addError(checks, "watchdog device: empty value", "device");
    } else if (timeout !== "" && (parseDuration(timeout) ?? 0) < MIN_WATCHDOG_TIMEOUT_S) {
      const message = `watchdog timeout: minimum value is ${MIN_WATCHDOG_TIMEOUT_S}s`;
      addError(checks, message, "timeout");
    }
  },
};

function checkExtensionService(checks: Checks, value: Fields): void {
  const name = pickText(value, "name");
  const files = pickList(value, "configFiles");
  if (name === "") {
    addError(checks, "name is required", "name");
    return;
  }
  if (files.length === 0 && pickList(value, "environment").length === 0) {
    addError(checks, `no config files found for extension ${quote(name)}`, "configFiles");
    return;
  }
  for (const [i, file] of files.entries()) {
    const missing = pickText(file, "content") === ""
      ? "content"
      : pickText(file, "mountPath") === ""
      ? "mount path"
      : undefined;
    if (missing === undefined) continue;
    const message = `extension ${missing} is required for extension ${quote(name)}`;
    addError(checks, message, `configFiles[${i}]`);
    return;
  }
}

function checkImageVerification(checks: Checks, value: Fields): void {
  for (const [i, rule] of pickList(value, "rules").entries()) {
    const image = pickText(rule, "image");
    const path = `rules[${i}]`;
    const fail = (problem: string) => addError(checks, `rule ${i}: ${problem}`, path);
    const warn = (problem: string) => addWarning(checks, `rule ${i}: ${problem}`, `${path}.image`);
    const ignored = "but matching only applies to the image registry and repository, " +
      "not the tag or digest";
    if (image === "") fail("imagePattern must be specified");
    if (image.includes("@")) warn(`imagePattern contains '@' ${ignored}`);
    if (image.replace(/^[^/]*/, "").includes(":")) warn(`imagePattern contains ':' ${ignored}`);
    if (image !== "" && image !== "*" && !image.includes("/")) {
      warn(
        "imagePattern does not contain a '/', image references like 'nginx' are matched as " +
          "'docker.io/nginx' (normalized)",
      );
    }
    checkVerifiers(rule, fail);
  }
}

function checkVerifiers(rule: unknown, fail: (problem: string) => void): void {
  const [skip, deny] = [isTrue(rule, "skip"), isTrue(rule, "deny")];
  const [keyless, publicKey] = [pick(rule, "keyless"), pick(rule, "publicKey")];
  const hasVerifier = keyless !== undefined || publicKey !== undefined;
  if (skip && deny) fail("skip and deny cannot both be true");
  if ((skip || deny) && hasVerifier) {
    fail("verifiers cannot be configured if skip or deny is true");
  }
  if (!skip && !deny && !hasVerifier) fail("at least one verifier must be configured");
  if (keyless !== undefined && publicKey !== undefined) {
    fail("only one of keyless or publicKey verifier can be configured");
  }
  if (keyless !== undefined) {
    if (pickText(keyless, "issuer") === "") fail("verifier OIDC issuer must be specified");
    if (pickText(keyless, "subject") === "" && pickText(keyless, "subjectRegex") === "") {
      fail("verifier subject or subjectRegex must be specified");
    }
  }
  if (publicKey !== undefined && pickText(publicKey, "certificate") === "") {
    fail("verifier certificates must be specified");
  }
}

function checkRegistryTls(checks: Checks, value: Fields): void {
  requireName(checks, value);
  const ca = pickText(value, "ca");
  if (ca !== "" && !isCertificate(ca)) {
    addError(checks, "ca must be a valid PEM-encoded certificate", "ca");
  }
  const identity = pick(value, "clientIdentity");
  if (identity === undefined) return;
  const problem = pemPairProblem(identity);
  if (problem !== undefined) addError(checks, `client identity: ${problem}`, "clientIdentity");
}

function isCertificate(pem: string): boolean {
  try {
    return decodePem(pem).some(({ label, der }) =>
      label === "CERTIFICATE" && parseCertificate(encodePem(label, der)) !== undefined
    );
  } catch {
    return false;
  }
}
