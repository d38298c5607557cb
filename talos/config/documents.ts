// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A machine configuration as a list of documents, and what programs ask it most often.
 *
 * Facts come from whichever document holds them: the v1alpha1 document up to contract 1.13, the
 * documents of their own from 1.14 on.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { decodeAny, isNullNode } from "./decode.ts";
import { pemFromBase64 } from "./pem.ts";
import { MAIN_KIND } from "./schema.ts";
import { StepBudget } from "./yaml_node.ts";
import { parseYamlText } from "./yaml_parse.ts";
import { toPlain } from "./yaml_read.ts";

/** One document of a configuration. */
export interface ConfigDocument {
  /** `v1alpha1` for the main document, else the document's own kind. */
  readonly kind: string;
  readonly name: string | undefined;
  readonly value: Readonly<Record<string, unknown>>;
  /** Line of its first character, from 1. */
  readonly line: number;
}

/**
 * Reads the documents of a configuration, without checking their fields.
 *
 * @throws CodedError `invalidArgument` for a text that is no YAML or holds other than mappings.
 */
export function parseDocuments(text: string): ConfigDocument[] {
  const parsed = parseYamlText(text);
  const budget = new StepBudget();
  const result: ConfigDocument[] = [];
  for (const { node } of parsed.roots) {
    if (isNullNode(node)) continue;
    const { line } = parsed.position(node.offset);
    const value = toPlain(decodeAny(node, budget));
    if (!isRecord(value)) {
      throw new CodedError("invalidArgument", `expected a YAML document at line ${line}`);
    }
    const { kind, name } = value;
    result.push({
      kind: typeof kind === "string" ? kind : MAIN_KIND,
      name: typeof name === "string" ? name : undefined,
      value,
      line,
    });
  }
  return result;
}

/** An authority as a machine knows it; workers have no key. */
export interface ConfigAuthority {
  readonly crt: string;
  readonly key: string | undefined;
}

/** What a configuration says, wherever it says it. Certificates and keys are PEM. */
export interface ConfigFacts {
  readonly machineType: "controlplane" | "worker" | undefined;
  /** Token for trustd. */
  readonly machineToken: string | undefined;
  readonly osCa: ConfigAuthority | undefined;
  /** Authorities that are trusted beside {@linkcode osCa}. */
  readonly acceptedOsCas: readonly string[];
  readonly certSans: readonly string[];
  readonly installDisk: string | undefined;
  readonly installImage: string | undefined;
  readonly hostname: string | undefined;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly clusterId: string | undefined;
  readonly clusterSecret: string | undefined;
  readonly clusterName: string | undefined;
  /** URL of the Kubernetes API. */
  readonly endpoint: string | undefined;
  readonly bootstrapToken: string | undefined;
  readonly kubernetesCa: ConfigAuthority | undefined;
  readonly etcdCa: ConfigAuthority | undefined;
  readonly aggregatorCa: ConfigAuthority | undefined;
  readonly serviceAccountKey: string | undefined;
  readonly apiServerSans: readonly string[];
  readonly apiServerPort: number;
  /** From the kubelet's image, without `v`. */
  readonly kubernetesVersion: string | undefined;
  readonly discoveryEndpoint: string | undefined;
  readonly sideroLinkApiUrl: string | undefined;
  readonly sideroLinkUniqueToken: string | undefined;
  readonly eventSinkEndpoint: string | undefined;
  readonly kmsgLogUrl: string | undefined;
}

/**
 * Gathers the facts of a configuration. Fields of a wrong type count as absent.
 *
 * @throws CodedError `invalidArgument` for a certificate or key that is not base64 of a text.
 */
export function configFacts(documents: readonly ConfigDocument[]): ConfigFacts {
  const main = documents.find(({ kind }) => kind === MAIN_KIND)?.value;
  const at = (kind: string, ...path: string[]) => lookup(documentOf(documents, kind), path);
  const text = (...path: string[]) => asText(lookup(main, path));
  const textOf = (kind: string, ...path: string[]) => asText(at(kind, ...path));
  const image = textOf("KubeletConfig", "image") ?? text("machine", "kubelet", "image");
  return {
    machineType: machineTypeOf(lookup(main, ["machine", "type"]), lookup(main, ["machine"])),
    machineToken: text("machine", "token"),
    osCa: storedAuthority(lookup(main, ["machine", "ca"])),
    acceptedOsCas: storedAuthorities(lookup(main, ["machine", "acceptedCAs"])),
    certSans: asTexts(lookup(main, ["machine", "certSANs"])),
    installDisk: text("machine", "install", "disk"),
    installImage: text("machine", "install", "image"),
    hostname: textOf("HostnameConfig", "hostname") ?? text("machine", "network", "hostname"),
    nodeLabels: {
      ...asLabels(lookup(main, ["machine", "nodeLabels"])),
      ...asLabels(at("KubeNodeConfig", "labels")),
    },
    clusterId: textOf("DiscoveryIdentityConfig", "clusterID") ?? text("cluster", "id"),
    clusterSecret: textOf("DiscoveryIdentityConfig", "clusterSecret") ?? text("cluster", "secret"),
    clusterName: textOf("KubeClusterConfig", "clusterName") ?? text("cluster", "clusterName"),
    endpoint: textOf("KubeClusterConfig", "endpoint") ??
      text("cluster", "controlPlane", "endpoint"),
    bootstrapToken: text("cluster", "token"),
    kubernetesCa: plainAuthority(at("KubeAPIServerCAConfig")) ??
      storedAuthority(lookup(main, ["cluster", "ca"])),
    etcdCa: storedAuthority(lookup(main, ["cluster", "etcd", "ca"])),
    aggregatorCa: plainAuthority(at("KubeAggregatorCAConfig")) ??
      storedAuthority(lookup(main, ["cluster", "aggregatorCA"])),
    serviceAccountKey: textOf("KubeServiceAccountConfig", "issuer", "privateKey") ??
      storedPem(lookup(main, ["cluster", "serviceAccount", "key"])),
    apiServerSans: [
      ...asTexts(lookup(main, ["cluster", "apiServer", "certSANs"])),
      ...asTexts(at("KubeAPIServerConfig", "certExtraSANs")),
    ],
    apiServerPort: asNumber(at("KubeAPIServerConfig", "apiPort")) ??
      asNumber(lookup(main, ["cluster", "controlPlane", "localAPIServerPort"])) ?? 6443,
    kubernetesVersion: image === undefined ? undefined : /:v?([0-9][^@]*)/.exec(image)?.[1],
    discoveryEndpoint: textOf("DiscoveryServiceConfig", "endpoint") ??
      text("cluster", "discovery", "registries", "service", "endpoint"),
    sideroLinkApiUrl: textOf("SideroLinkConfig", "apiUrl"),
    sideroLinkUniqueToken: textOf("SideroLinkConfig", "uniqueToken"),
    eventSinkEndpoint: textOf("EventSinkConfig", "endpoint"),
    kmsgLogUrl: textOf("KmsgLogConfig", "url"),
  };
}

function machineTypeOf(type: unknown, machine: unknown): ConfigFacts["machineType"] {
  if (type === "controlplane" || type === "init") return "controlplane";
  const isWorker = type === "worker" || type === "join" || type === "" || type === undefined;
  return isWorker && isRecord(machine) ? "worker" : undefined;
}

function documentOf(documents: readonly ConfigDocument[], wanted: string): unknown {
  return documents.find(({ kind }) => kind === wanted)?.value;
}

function lookup(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const name of path) value = isRecord(value) ? value[name] : undefined;
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function asNumber(value: unknown): number | undefined {
  return typeof value === "number" && value > 0 ? value : undefined;
}

function asTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function asLabels(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  const labels = Object.entries(value).filter(([, label]) => typeof label === "string");
  return Object.fromEntries(labels) as Record<string, string>;
}

function storedPem(value: unknown): string | undefined {
  const stored = asText(value);
  return stored === undefined ? undefined : pemFromBase64(stored);
}

function storedAuthority(value: unknown): ConfigAuthority | undefined {
  const crt = storedPem(lookup(value, ["crt"]));
  return crt === undefined ? undefined : { crt, key: storedPem(lookup(value, ["key"])) };
}

function storedAuthorities(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.map((item) => storedPem(lookup(item, ["crt"]))).filter((crt) => crt !== undefined);
}

function plainAuthority(document: unknown): ConfigAuthority | undefined {
  const crt = asText(lookup(document, ["issuingCA", "cert"])) ??
    asTexts(lookup(document, ["acceptedCAs"])).at(0);
  if (crt === undefined) return undefined;
  return { crt, key: asText(lookup(document, ["issuingCA", "key"])) };
}
