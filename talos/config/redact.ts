// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Replaces the secrets of a configuration, so that it can be shown, stored and compared.
 *
 * @module
 */

import { type ConfigModel, encodeConfig, loadConfig } from "./config_load.ts";
import type { Fields } from "./decode.ts";
import { encodeQuery } from "./join_config.ts";
import { REDACTED_VALUE } from "./scalars.ts";
import { MAIN_KIND } from "./schema.ts";

/**
 * Paths of secrets by kind; `*` stands for every item of a list or mapping. A value that is absent
 * or empty stays as it is.
 */
const SECRET_PATHS: Readonly<Record<string, readonly string[]>> = {
  [MAIN_KIND]: [
    "machine.token",
    "machine.ca.key",
    "machine.registries.config.*.auth.password",
    "machine.registries.config.*.auth.auth",
    "machine.registries.config.*.auth.identityToken",
    "machine.registries.config.*.tls.clientIdentity.key",
    "machine.network.interfaces.*.wireguard.privateKey",
    "machine.network.interfaces.*.vip.equinixMetal.apiToken",
    "machine.network.interfaces.*.vip.hcloud.apiToken",
    "machine.network.interfaces.*.vlans.*.vip.equinixMetal.apiToken",
    "machine.network.interfaces.*.vlans.*.vip.hcloud.apiToken",
    "machine.systemDiskEncryption.state.keys.*.static.passphrase",
    "machine.systemDiskEncryption.ephemeral.keys.*.static.passphrase",
    "cluster.secret",
    "cluster.token",
    "cluster.aescbcEncryptionSecret",
    "cluster.secretboxEncryptionSecret",
    "cluster.serviceAccount.key",
    "cluster.ca.key",
    "cluster.aggregatorCA.key",
    "cluster.etcd.ca.key",
  ],
  DiscoveryIdentityConfig: ["clusterSecret"],
  HCloudVIPConfig: ["apiToken"],
  KubeServiceAccountConfig: ["issuer.privateKey"],
  RawVolumeConfig: ["encryption.keys.*.static.passphrase"],
  RegistryAuthConfig: ["password", "auth", "identityToken"],
  RegistryTLSConfig: ["clientIdentity.key"],
  SideroLinkConfig: ["uniqueToken"],
  SwapVolumeConfig: ["encryption.keys.*.static.passphrase"],
  UserVolumeConfig: ["encryption.keys.*.static.passphrase"],
  VolumeConfig: ["encryption.keys.*.static.passphrase"],
  WireguardConfig: ["privateKey", "peers.*.presharedKey"],
};

/**
 * Redacts a configuration.
 *
 * @throws CodedError `invalidArgument` when it cannot be loaded.
 */
export function redactConfig(text: string): string {
  return encodeConfig(redactModel(loadConfig(text)));
}

/** Redacts a loaded configuration; the given one is not changed. */
function redactModel(model: ConfigModel): ConfigModel {
  return model.map((document) => {
    let value: unknown = document.value;
    for (const path of SECRET_PATHS[document.kind] ?? []) {
      value = replaceAt(value, path.split("."));
    }
    return { ...document, value: redactSpecial(document.kind, value as Fields) };
  });
}

function replaceAt(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return value === "" || value === undefined ? value : REDACTED_VALUE;
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => replaceAt(item, rest));
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [key, replaceAt(item, rest)]));
  }
  const old = (value as Fields)[step];
  return old === undefined ? value : { ...value, [step]: replaceAt(old, rest) };
}

function redactSpecial(kind: string, value: Fields): Fields {
  switch (kind) {
    case "SideroLinkConfig":
      return typeof value.apiUrl === "string"
        ? { ...value, apiUrl: redactJoinToken(value.apiUrl) }
        : value;
    case "KubeEtcdEncryptionConfig":
      return { ...value, config: redactNamed(value.config, "secret") };
    case "KubeAPIServerCAConfig":
    case "KubeAggregatorCAConfig":
      // A key is shown as redacted even where there is none.
      return typeof value.issuingCA === "object"
        ? { ...value, issuingCA: { ...value.issuingCA, key: REDACTED_VALUE } }
        : value;
    default:
      return value;
  }
}

function redactJoinToken(url: string): string {
  const [base = "", query = ""] = url.split("?", 2);
  const parameters = new URLSearchParams(query);
  if (parameters.has("jointoken")) parameters.set("jointoken", REDACTED_VALUE);
  parameters.sort();
  const text = encodeQuery(parameters);
  return text === "" ? base : `${base}?${text}`;
}

/** Replaces every value under a key, at any depth. */
function redactNamed(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => redactNamed(item, name));
  if (typeof value !== "object" || value === null) return value;
  const entries = value instanceof Map ? [...value] : Object.entries(value);
  return new Map(
    entries.map(([key, item]) => [key, key === name ? REDACTED_VALUE : redactNamed(item, name)]),
  );
}
