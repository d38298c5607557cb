// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The client configuration of `talosctl`.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { pemFromBase64, pemToBase64 } from "./pem.ts";
import type { CertificateAndKey } from "./pki.ts";
import { parseSimpleYaml } from "./yaml_read.ts";
import { sortedMap, writeYaml, type YamlValue } from "./yaml_write.ts";

/** One context: where to, and as whom. */
export interface TalosContext {
  readonly endpoints: readonly string[];
  readonly nodes?: readonly string[];
  /** PEM of the cluster's Talos authority, for direct connections. */
  readonly ca?: string;
  /** Client certificate, for direct connections. */
  readonly client?: CertificateAndKey;
  /** Identity whose key signs requests, for connections through a server. */
  readonly identity?: string;
  /** Cluster to which a server routes requests. */
  readonly cluster?: string;
}

/** A client configuration. */
export interface Talosconfig {
  readonly context: string;
  readonly contexts: ReadonlyMap<string, TalosContext>;
}

/** Writes a client configuration. */
export function writeTalosconfig({ context, contexts }: Talosconfig): string {
  return writeYaml({
    context,
    contexts: sortedMap([...contexts].map(([name, value]) => [name, storedContext(value)])),
  });
}

function storedContext(context: TalosContext): YamlValue {
  const { endpoints, nodes = [], ca, client, identity, cluster } = context;
  return {
    endpoints,
    nodes: nodes.length === 0 ? undefined : nodes,
    ca: ca === undefined ? undefined : pemToBase64(ca),
    crt: client === undefined ? undefined : pemToBase64(client.crt),
    key: client === undefined ? undefined : pemToBase64(client.key),
    auth: identity === undefined ? undefined : { siderov1: { identity } },
    cluster,
  };
}

/** Reads a client configuration; the old field `target` counts as an endpoint. */
export function parseTalosconfig(text: string): Talosconfig {
  const root = record(parseSimpleYaml(text));
  const contexts = Object.entries(record(root.contexts)).map(([name, value]) =>
    [name, readContext(record(value))] as const
  );
  return { context: string(root.context) ?? "", contexts: new Map(contexts) };
}

function readContext(stored: Readonly<Record<string, unknown>>): TalosContext {
  const [ca, crt, key] = [stored.ca, stored.crt, stored.key].map((value) => {
    const base64 = string(value);
    return base64 === undefined ? undefined : pemFromBase64(base64);
  });
  const target = string(stored.target);
  const nodes = strings(stored.nodes);
  const identity = string(record(record(stored.auth).siderov1).identity);
  const cluster = string(stored.cluster);
  return {
    endpoints: [...strings(stored.endpoints), ...(target === undefined ? [] : [target])],
    ...(nodes.length === 0 ? {} : { nodes }),
    ...(ca === undefined ? {} : { ca }),
    ...(crt === undefined || key === undefined ? {} : { client: { crt, key } }),
    ...(identity === undefined ? {} : { identity }),
    ...(cluster === undefined ? {} : { cluster }),
  };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value !== "object" || Array.isArray(value)) {
    throw new CodedError("invalidArgument", "Cannot read talosconfig: want a mapping");
  }
  return value as Record<string, unknown>;
}

function string(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
