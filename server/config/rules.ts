// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of the configuration that concern more than one key.
 *
 * @module
 */

import { formatHostPort, type HostPort, reachOf } from "./address.ts";
import type { ConfigDocument } from "./document.ts";
import type { Report } from "./schema.ts";
import { hasIpHost } from "./values.ts";

/** A document in which every value that broke its own rule is missing. */
type Partially<T> = T extends readonly (infer I)[] ? readonly Partially<I>[]
  : T extends (...parameters: never[]) => unknown ? T
  : T extends object ? { readonly [K in keyof T]?: Partially<T[K]> | undefined }
  : T;

/** The document as far as it could be read. */
export type PartialDocument = Partially<ConfigDocument>;

function asHostPort(address: Partially<HostPort> | undefined): HostPort | undefined {
  const { host, port } = address ?? {};
  return host === undefined || port === undefined ? undefined : { host, port };
}

function checkPublicBind({ api }: PartialDocument, report: Report): void {
  const address = asHostPort(api?.bindAddress);
  if (address === undefined || api?.allowPublicBind !== false) return;
  if (reachOf(address.host) === "loopback") return;
  report({
    path: "api.bindAddress",
    value: formatHostPort(address),
    rule: "must be a loopback address: calls are not authenticated, so that whoever reaches it " +
      "reads and writes the state; api.allowPublicBind: true allows it nevertheless",
  });
}

const LOCAL: Readonly<Record<string, string>> = {
  loopback: "a loopback address",
  unspecified: "an unspecified address",
  linkLocal: "a link-local address",
};

function checkAdvertised(
  path: string,
  address: HostPort | undefined,
  listener: HostPort | undefined,
  report: Report,
): void {
  if (address === undefined) return;
  const local = LOCAL[reachOf(address.host)];
  if (local === undefined) return;
  // A listener that only this host reaches may be advertised to this host.
  if (listener !== undefined && reachOf(listener.host) === "loopback") return;
  report({
    path,
    value: formatHostPort(address),
    rule: `must be an address that machines reach, not ${local}; ` +
      "siderolink.allowLocalAdvertised: true allows it for runs on a single host",
  });
}

function checkAddresses(document: PartialDocument, report: Report): void {
  const { siderolink, wireguard } = document;
  const endpoints = wireguard?.advertisedEndpoints ?? [];
  const allowed = siderolink?.allowLocalAdvertised !== false;
  if (!allowed) {
    checkAdvertised(
      "machineApiAdvertisedUrl",
      asHostPort(document.machineApiAdvertisedUrl),
      asHostPort(siderolink.bindAddress),
      report,
    );
    // The tunnel listens on every interface, so there is no local listener to advertise.
    checkAdvertised(
      "wireguard.advertisedEndpoint",
      asHostPort(wireguard?.advertisedEndpoint),
      undefined,
      report,
    );
    for (const [index, endpoint] of endpoints.entries()) {
      const path = `wireguard.advertisedEndpoints[${index}]`;
      checkAdvertised(path, asHostPort(endpoint), undefined, report);
    }
  }
}

function checkEndpointGiven(source: unknown, report: Report): void {
  const wireguard = child(source, "wireguard");
  const many = child(wireguard, "advertisedEndpoints");
  const given = child(wireguard, "advertisedEndpoint") ??
    (Array.isArray(many) ? many[0] : undefined);
  if (given !== undefined && given !== null) return;
  report({ path: "wireguard.advertisedEndpoint", value: undefined, rule: "is required" });
}

function child(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? (value as Record<string, unknown>)[name]
    : undefined;
}

type KeySource = { readonly env?: string | undefined; readonly credential?: string | undefined };

function checkKeySource(path: string, source: KeySource, report: Report): void {
  if ((source.env === undefined) !== (source.credential === undefined)) return;
  const which = source.env === undefined ? "neither" : "both";
  report({
    path,
    value: undefined,
    rule: `must name either env or credential, where the key of the state comes from; it names ` +
      which,
  });
}

type Etcd = NonNullable<NonNullable<PartialDocument["state"]>["etcd"]>;

function checkEtcd({ endpoints, child: own, ...tls }: Etcd, report: Report): void {
  if (own?.dataDirectory === undefined && own?.binary === undefined) {
    if (endpoints?.length !== 0) return;
    return report({
      path: "state.etcd.endpoints",
      value: [],
      rule: "must name at least one member, unless state.etcd.child.dataDirectory is given",
    });
  }
  if (own.dataDirectory === undefined) {
    const path = "state.etcd.child.dataDirectory";
    report({ path, value: undefined, rule: "is required with state.etcd.child.binary" });
  }
  if (endpoints !== undefined && endpoints.length > 0) {
    report({
      path: "state.etcd.endpoints",
      value: endpoints,
      rule: "must be empty where state.etcd.child has the server start an etcd of its own",
    });
  }
  for (const name of ["certificateAuthority", "certificate", "key"] as const) {
    if (tls[name] === undefined) continue;
    report({
      path: `state.etcd.${name}`,
      value: tls[name],
      rule: "must be left out with state.etcd.child, which is reached over loopback without TLS",
    });
  }
}

function checkState({ state, machineStore }: PartialDocument, report: Report): void {
  if (machineStore?.encrypt === true && state?.kind === "memory") {
    report({
      path: "machineStore.encrypt",
      value: true,
      rule: 'needs the key of the state, which kind "memory" does not have',
    });
  }
  if (state?.kind === "etcd" && state.etcd !== undefined) checkEtcd(state.etcd, report);
  const { key } = state ?? {};
  // Nothing of the state reaches a disk, so that there is nothing to encrypt.
  const unused = state?.kind === "memory" && key?.env === undefined &&
    key?.credential === undefined;
  if (key !== undefined && state?.kind !== undefined && !unused) {
    checkKeySource("state.key", key, report);
  }
  for (const [index, source] of (key?.previous ?? []).entries()) {
    checkKeySource(`state.key.previous[${index}]`, source, report);
  }
}

type Pair = { readonly certificate?: string | undefined; readonly key?: string | undefined };

function checkPair(path: string, pair: Pair | undefined, report: Report): void {
  if ((pair?.certificate === undefined) === (pair?.key === undefined)) return;
  const missing = pair?.key === undefined ? "key" : "certificate";
  report({
    path: `${path}.${missing}`,
    value: undefined,
    rule: "is required with its counterpart",
  });
}

function checkScheme(document: PartialDocument, report: Report): void {
  const { machineApiAdvertisedUrl: url, siderolink } = document;
  const isSecure = siderolink?.tls?.certificate !== undefined;
  if (url?.scheme === undefined || siderolink === undefined || url.scheme !== "https" || isSecure) {
    return;
  }
  report({
    path: "machineApiAdvertisedUrl",
    value: url.scheme,
    rule: 'must begin with "grpc://" unless siderolink.tls names a certificate',
  });
}

function checkTls({ api, siderolink, state }: PartialDocument, report: Report): void {
  checkPair("api.tls", api?.tls, report);
  checkPair("siderolink.tls", siderolink?.tls, report);
  checkPair("state.etcd", state?.etcd, report);
}

function checkFactory({ imageFactory }: PartialDocument, report: Report): void {
  const { baseUrl, pxeBaseUrl } = imageFactory ?? {};
  if (baseUrl === undefined || pxeBaseUrl !== "" || !hasIpHost(baseUrl)) return;
  report({
    path: "imageFactory.pxeBaseUrl",
    value: "",
    rule: 'is required, since "pxe." before the IP address of imageFactory.baseUrl is no host',
  });
}

function reportRepeats(
  values: readonly (string | undefined)[],
  pathOf: (index: number) => string,
  report: Report,
): void {
  for (const [index, value] of values.entries()) {
    const first = values.indexOf(value);
    if (value === undefined || first === index) continue;
    report({ path: pathOf(index), value, rule: `must not repeat ${pathOf(first)}` });
  }
}

function checkLists({ talosVersions, infraProviders }: PartialDocument, report: Report): void {
  const versions = talosVersions ?? [];
  reportRepeats(
    versions.map(({ version }) => version),
    (index) => `talosVersions[${index}].version`,
    report,
  );
  reportRepeats(
    (infraProviders ?? []).map(({ id }) => id),
    (index) => `infraProviders[${index}].id`,
    report,
  );
  for (const [index, { kubernetes }] of versions.entries()) {
    if (kubernetes?.length !== 0) continue;
    const path = `talosVersions[${index}].kubernetes`;
    report({ path, value: [], rule: "must name at least one version" });
  }
}

/** Checks what concerns more than one key; a value that broke its own rule is left alone. */
export function checkRules(document: PartialDocument, source: unknown, report: Report): void {
  checkPublicBind(document, report);
  checkEndpointGiven(source, report);
  checkAddresses(document, report);
  checkState(document, report);
  checkScheme(document, report);
  checkTls(document, report);
  checkFactory(document, report);
  checkLists(document, report);
}
