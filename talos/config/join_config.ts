// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a machine is told where its server is: kernel arguments for its first boot, documents in its
 * configuration from then on.
 *
 * @module
 */

import { CodedError } from "../../base/errors.ts";
import { SERVER_TUNNEL_ADDRESS } from "../../base/tunnel.ts";
import {
  encodeJoinToken,
  INFRA_PROVIDER_KEY,
  type JoinTokenVersion,
  MACHINE_REQUEST_KEY,
  parseJoinToken,
} from "./join_token.ts";
import { joinDocuments, writeYaml } from "./yaml_write.ts";

/** What a machine is told. */
export interface JoinOptions {
  /** URL under which machines reach the provision service: scheme https or grpc, no path. */
  readonly apiUrl?: string;
  readonly joinToken?: string;
  /** Form of the token when an infrastructure provider is named; 2 unless said otherwise. */
  readonly tokenVersion?: JoinTokenVersion;
  readonly infraProvider?: string;
  readonly machineRequest?: string;
  /** Whether WireGuard packets travel inside gRPC. */
  readonly useGrpcTunnel?: boolean;
  /** Only the address of the provision service changes without a tunnel to talk in. */
  readonly eventSinkPort: number;
  readonly logServerPort: number;
}

/** What {@linkcode makeJoinConfig} makes. */
export interface JoinConfig {
  readonly kernelArgs: readonly string[];
  /** The documents as one text. */
  readonly config: string;
}

/**
 * Makes kernel arguments and documents.
 *
 * @throws CodedError `invalidArgument` when a port is missing or the URL is wrong.
 */
export function makeJoinConfig(options: JoinOptions): JoinConfig {
  if (options.eventSinkPort <= 0) {
    throw new CodedError("invalidArgument", "no events server port");
  }
  if (options.logServerPort <= 0) {
    throw new CodedError("invalidArgument", "no log server port");
  }
  const events = `[${SERVER_TUNNEL_ADDRESS}]:${options.eventSinkPort}`;
  const logs = `tcp://[${SERVER_TUNNEL_ADDRESS}]:${options.logServerPort}`;
  const api = options.apiUrl === undefined ? undefined : joinUrl(options.apiUrl, options);
  return {
    kernelArgs: [
      ...(api === undefined ? [] : [`siderolink.api=${api}`]),
      `talos.events.sink=${events}`,
      `talos.logging.kernel=${logs}`,
    ],
    config: joinDocuments([
      ...(api === undefined ? [] : [
        writeYaml({ apiVersion: "v1alpha1", kind: "SideroLinkConfig", apiUrl: api }),
      ]),
      writeYaml({ apiVersion: "v1alpha1", kind: "EventSinkConfig", endpoint: events }),
      writeYaml({ apiVersion: "v1alpha1", kind: "KmsgLogConfig", name: "omni-kmsg", url: logs }),
    ]),
  };
}

function joinUrl(apiUrl: string, options: JoinOptions): string {
  checkUrl(apiUrl);
  const query = new URLSearchParams();
  if (options.useGrpcTunnel === true) query.set("grpc_tunnel", "true");
  const token = joinToken(options);
  if (token !== "") query.set("jointoken", token);
  const [base = "", old = ""] = apiUrl.split("?", 2);
  for (const [key, value] of new URLSearchParams(old)) {
    if (!query.has(key)) query.append(key, value);
  }
  query.sort();
  const text = encodeQuery(query);
  return text === "" ? base : `${base}?${text}`;
}

function joinToken(
  { joinToken: secret = "", infraProvider, machineRequest, tokenVersion = "2" }: JoinOptions,
): string {
  // A token that is signed already is passed on as it is.
  if (infraProvider === undefined || parseJoinToken(secret).version !== "plain") return secret;
  return encodeJoinToken({
    secret,
    version: tokenVersion,
    extraData: {
      [INFRA_PROVIDER_KEY]: infraProvider,
      ...(machineRequest === undefined ? {} : { [MACHINE_REQUEST_KEY]: machineRequest }),
    },
  });
}

function checkUrl(apiUrl: string): void {
  const problem = /^[a-z][a-z0-9+.-]*:\/\/\[[^\]]*$/i.test(apiUrl)
    ? "missing ']' in host"
    : !URL.canParse(apiUrl)
    ? "not a URL"
    : undefined;
  if (problem !== undefined) {
    throw new CodedError("invalidArgument", `parse ${JSON.stringify(apiUrl)}: ${problem}`);
  }
}

/** A query as Go encodes it: everything but letters, digits and `-_.~`, spaces as `+`. */
export function encodeQuery(query: Iterable<readonly [string, string]>): string {
  const encode = (text: string) =>
    encodeURIComponent(text).replace(
      /[!'()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
    ).replaceAll("%20", "+");
  return [...query].map(([key, value]) => `${encode(key)}=${encode(value)}`).join("&");
}
