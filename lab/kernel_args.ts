// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a machine reads from its kernel command line about the server that it joins.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";

/** A host with a port. */
export interface HostPort {
  /** A name or an address; IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Where and how a machine asks to join. */
export interface JoinEndpoint extends HostPort {
  readonly tls: boolean;
  /** Empty when there is none. */
  readonly joinToken: string;
  readonly overGrpc: boolean;
}

/** The server as a machine knows it. */
export interface ServerAddresses {
  readonly join?: JoinEndpoint;
  readonly eventSink?: HostPort;
  readonly kernelLog?: HostPort;
}

/**
 * Reads `siderolink.api`, `talos.events.sink` and `talos.logging.kernel`; of an argument that is
 * given twice the last one counts, and all others are left to the kernel.
 *
 * @throws CodedError `invalidArgument` when one of the three is malformed.
 */
export function parseKernelArgs(text: string): ServerAddresses {
  const values = new Map(
    text.split(/\s+/).filter((word) => word.includes("=")).map((word) => {
      const equals = word.indexOf("=");
      return [word.slice(0, equals), word.slice(equals + 1)] as const;
    }),
  );
  const api = values.get("siderolink.api");
  const events = values.get("talos.events.sink");
  const log = values.get("talos.logging.kernel");
  return {
    ...(api === undefined ? {} : { join: parseJoinUrl(api) }),
    ...(events === undefined ? {} : { eventSink: parseHostPort(events, "talos.events.sink") }),
    ...(log === undefined ? {} : { kernelLog: parseLogUrl(log) }),
  };
}

/** Reads the URL of a join endpoint; without a scheme it is `grpc`. */
export function parseJoinUrl(text: string): JoinEndpoint {
  const full = text.includes("://") ? text : `grpc://${text}`;
  const scheme = full.slice(0, full.indexOf("://"));
  const bad = (what: string): CodedError =>
    new CodedError("invalidArgument", `Cannot read "siderolink.api": ${what}`);
  if (scheme !== "grpc" && scheme !== "https") {
    throw bad(`scheme must be "grpc" or "https": current value is "${scheme}"`);
  }
  // URL knows the parts of https only, so the scheme is exchanged for reading.
  const url = URL.parse(`https${full.slice(scheme.length)}`);
  if (url === null || url.hostname === "") throw bad("it must name a host");
  const port = url.port === "" ? 443 : Number(url.port);
  const tunnel = url.searchParams.get("grpc_tunnel") ?? "";
  return {
    host: unbracket(url.hostname),
    port,
    tls: scheme === "https",
    joinToken: url.searchParams.get("jointoken") ?? "",
    overGrpc: ["true", "y", "1"].includes(tunnel.toLowerCase()),
  };
}

/** Reads the URL of a kernel log receiver; only TCP is known. */
export function parseLogUrl(text: string): HostPort {
  const match = /^tcp:\/\/([^/]+)\/?$/.exec(text);
  if (match === null) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read "talos.logging.kernel": it must be "tcp://<host>:<port>": current value is "${text}"`,
    );
  }
  return parseHostPort(match[1] ?? "", "talos.logging.kernel");
}

/** Reads `host:port`, with IPv6 hosts in brackets. */
export function parseHostPort(text: string, what: string): HostPort {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]]+):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port < 1 || port > 65_535) {
    throw new CodedError(
      "invalidArgument",
      `Cannot read "${what}": it must be "<host>:<port>": current value is "${text}"`,
    );
  }
  return { host: unbracket(match[1] ?? ""), port };
}

/** Writes `host:port` with IPv6 hosts in brackets. */
export function formatHostPort({ host, port }: HostPort): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function unbracket(host: string): string {
  return host.startsWith("[") ? host.slice(1, -1) : host;
}
