// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Says what a public API port opens to everybody who reaches it.
 *
 * @module
 */

import type { ResourceType } from "../../cosi/resource.ts";
import type { Config } from "../config/parse_config.ts";
import { reachOf } from "../config/address.ts";

function names(types: readonly ResourceType[]): string {
  return types.map(({ type }) => type).toSorted().join(", ");
}

/** What is opened, in sentences; none while only this host reaches the port. */
export function describeExposure(config: Config, types: readonly ResourceType[]): string[] {
  if (reachOf(config.api.bindAddress.host) === "loopback") return [];
  const readOnly = types.filter(({ access }) => access === "readOnly");
  const writable = types.filter(({ access }) => typeof access === "object");
  return [
    "whoever reaches the API gets the default join token (ConnectionParams.omni.sidero.dev) and " +
    "the secret of every infrastructure provider (ProviderJoinConfigs.omni.sidero.dev), " +
    "and with them the right to bring machines in",
    `can be read: ${names(readOnly)}`,
    `can be read and written: ${names(writable)}, and all types that the server does not know`,
    `can be called: CreateSchematicFromRaw, which posts to ${config.factoryUrls.base}`,
  ];
}
