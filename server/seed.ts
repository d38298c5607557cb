// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Brings what the configuration says into the state, at each start.
 *
 * The configuration wins over changes made by hand; what it no longer names is removed. The server's
 * identity and the secrets are made once and kept in the state.
 *
 * @module
 */

import { Secret } from "../base/redact.ts";
import type { StateCore } from "../cosi/state/core.ts";
import { type RandomBytes, SERVER_ADDRESS, TUNNEL_PREFIX } from "../link/addresses.ts";
import { generateKey, publicKeyOf } from "../link/keys.ts";
import { Config as ServerIdentity } from "../resources/link/config.ts";
import { ConnectionParam } from "../resources/link/connection_param.ts";
import { DefaultJoinToken } from "../resources/link/default_join_token.ts";
import { JoinToken } from "../resources/link/join_token.ts";
import { SiderolinkAPIConfig } from "../resources/link/siderolink_api_config.ts";
import { FeaturesConfig } from "../resources/system/features_config.ts";
import { SysVersion } from "../resources/system/sys_version.ts";
import { makeJoinConfig } from "../talos/config/join_config.ts";
import { formatHostPort, formatMachineApiUrl } from "./config/address.ts";
import type { Config } from "./config/parse_config.ts";
import { putResource } from "./put_resource.ts";
import { checkRemovedProviders, seedProviders } from "./seed_providers.ts";
import { encodeToken } from "./seed_tokens.ts";
import { seedTalosVersions } from "./seed_versions.ts";
import { EVENTS_PORT, LOGS_PORT } from "./tunnel_ports.ts";
import { peekResource } from "./typed_state.ts";

/** The resource that holds the identity, and others that there is one of. */
const SIDEROLINK_ID = "siderolink-config";

/**
 * The version of the contract that clients are told: they pick features by it, for example that
 * schematics go through the server (from 1.9 on).
 */
const CONTRACT_VERSION = "1.10.4";

/** Options of {@linkcode seedState}. */
export interface SeedOptions {
  /** The version of this program. */
  readonly version: string;
  readonly random: RandomBytes;
}

/** What the rest of the server needs of the seeded state. */
export interface ServerMaterial {
  /** WireGuard keys of the server, base64. */
  readonly privateKey: Secret;
  readonly publicKey: string;
}

/**
 * Seeds the state.
 *
 * @throws CodedError `failedPrecondition` when a provider that the configuration no longer names
 *   still has machine requests; nothing was written then.
 */
export async function seedState(
  state: StateCore,
  config: Config,
  options: SeedOptions,
): Promise<ServerMaterial> {
  await checkRemovedProviders(state, config);
  const joinToken = await seedJoinToken(state, config, options.random);
  const keys = await seedIdentity(state, config, joinToken, options.random);
  await seedConnection(state, config, joinToken);
  await putResource(state, FeaturesConfig, {
    id: "features-config",
    spec: {
      imageFactoryBaseUrl: config.factoryUrls.base,
      imageFactoryPxeBaseUrl: config.factoryUrls.pxe,
    },
  });
  await putResource(state, SysVersion, {
    id: "current",
    spec: {
      backendVersion: `v${CONTRACT_VERSION}+batuta.${options.version}`,
      instanceName: "batuta",
      backendApiVersion: 1,
    },
  });
  await seedTalosVersions(state, config);
  await seedProviders(state, config, options.random);
  return keys;
}

/** Earlier tokens stay valid; a configured one becomes the default. */
async function seedJoinToken(
  state: StateCore,
  config: Config,
  random: RandomBytes,
): Promise<Secret> {
  const storedToken = peekResource(state, DefaultJoinToken, "default")?.spec.tokenId ?? "";
  const configured = config.siderolink.initialJoinToken?.reveal();
  const token = configured ?? (storedToken === "" ? encodeToken(random(32)) : storedToken);
  if (peekResource(state, JoinToken, token) === undefined) {
    await putResource(state, JoinToken, { id: token, spec: { name: "initial" } });
  }
  await putResource(state, DefaultJoinToken, { id: "default", spec: { tokenId: token } });
  return new Secret(token);
}

async function seedIdentity(
  state: StateCore,
  config: Config,
  joinToken: Secret,
  random: RandomBytes,
): Promise<ServerMaterial> {
  const storedKey = peekResource(state, ServerIdentity, SIDEROLINK_ID)?.spec.privateKey ?? "";
  const privateKey = storedKey === "" ? generateKey(random).privateKey : storedKey;
  const publicKey = publicKeyOf(privateKey);
  await putResource(state, ServerIdentity, {
    id: SIDEROLINK_ID,
    spec: {
      privateKey,
      publicKey,
      wireguardEndpoint: `0.0.0.0:${config.wireguard.port}`,
      subnet: TUNNEL_PREFIX,
      serverAddress: SERVER_ADDRESS,
      initialJoinToken: joinToken.reveal(),
      advertisedEndpoint: advertisedEndpoints(config),
    },
  });
  return { privateKey: new Secret(privateKey), publicKey };
}

function advertisedEndpoints(config: Config): string {
  return config.wireguardEndpoints.map(formatHostPort).join(",");
}

async function seedConnection(state: StateCore, config: Config, joinToken: Secret): Promise<void> {
  const apiUrl = formatMachineApiUrl(config.machineApiAdvertisedUrl);
  const { kernelArgs } = makeJoinConfig({
    apiUrl,
    joinToken: joinToken.reveal(),
    eventSinkPort: EVENTS_PORT,
    logServerPort: LOGS_PORT,
  });
  await putResource(state, ConnectionParam, {
    id: SIDEROLINK_ID,
    spec: {
      args: kernelArgs.join(" "),
      apiEndpoint: apiUrl,
      wireguardEndpoint: advertisedEndpoints(config),
      joinToken: joinToken.reveal(),
      eventsPort: EVENTS_PORT,
      logsPort: LOGS_PORT,
    },
  });
  await putResource(state, SiderolinkAPIConfig, {
    id: SIDEROLINK_ID,
    spec: {
      machineApiAdvertisedUrl: apiUrl,
      wireguardAdvertisedEndpoint: advertisedEndpoints(config),
      eventsPort: EVENTS_PORT,
      logsPort: LOGS_PORT,
    },
  });
}
