// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The client configuration of Kubernetes.
 *
 * @module
 */

import { pemToBase64 } from "./pem.ts";
import type { CertificateAndKey } from "./pki.ts";
import { writeYaml, type YamlValue } from "./yaml_write.ts";

/** How a user proves who it is. */
export type KubeUser =
  | { readonly kind: "certificate"; readonly client: CertificateAndKey }
  | { readonly kind: "token"; readonly token: string }
  /** `kubectl` asks an OIDC issuer for a token each time. */
  | { readonly kind: "oidc"; readonly issuerUrl: string; readonly extraArgs?: readonly string[] };

/** Parts of a configuration with one cluster and one user. */
export interface KubeconfigInput {
  readonly clusterName: string;
  /** URL of the Kubernetes API. */
  readonly server: string;
  /** PEM of the accepted authorities; absent where the server's certificate is publicly trusted. */
  readonly ca?: string;
  /** Name of user and context; `admin@<cluster>` unless said otherwise. */
  readonly contextName?: string;
  readonly user: KubeUser;
}

/** Writes a configuration with its one context selected. */
export function writeKubeconfig(input: KubeconfigInput): string {
  const { clusterName, server, ca, user, contextName = `admin@${clusterName}` } = input;
  return writeYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{
      name: clusterName,
      cluster: {
        server,
        "certificate-authority-data": ca === undefined ? undefined : pemToBase64(ca),
      },
    }],
    users: [{ name: contextName, user: storedUser(user, clusterName) }],
    contexts: [{
      name: contextName,
      context: { cluster: clusterName, namespace: "default", user: contextName },
    }],
    "current-context": contextName,
  });
}

function storedUser(user: KubeUser, clusterName: string): YamlValue {
  switch (user.kind) {
    case "certificate":
      return {
        "client-certificate-data": pemToBase64(user.client.crt),
        "client-key-data": pemToBase64(user.client.key),
      };
    case "token":
      return { token: user.token };
    case "oidc":
      return {
        exec: {
          apiVersion: "client.authentication.k8s.io/v1beta1",
          args: [
            "oidc-login",
            "get-token",
            `--oidc-issuer-url=${user.issuerUrl}`,
            "--oidc-client-id=native",
            `--oidc-extra-scope=cluster:${clusterName}`,
            ...user.extraArgs ?? [],
          ],
          command: "kubectl",
          env: null,
          interactiveMode: "IfAvailable",
          provideClusterInfo: false,
        },
      };
  }
}
