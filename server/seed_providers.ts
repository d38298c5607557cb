// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Infrastructure providers, from the configuration: no administrator registers them.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { Kind } from "../cosi/resource.ts";
import type { StateCore } from "../cosi/state/core.ts";
import type { RawResource } from "../cosi/state/raw_resource.ts";
import type { Selection } from "../cosi/state/state.ts";
import type { RandomBytes } from "../link/addresses.ts";
import { LABEL_INFRA_PROVIDER_ID } from "../resources/labels.ts";
import { ProviderJoinConfig } from "../resources/link/provider_join_config.ts";
import { PROVIDER_NAMESPACE_PREFIX } from "../resources/namespaces.ts";
import { ConfigPatchRequest } from "../resources/provider/config_patch_request.ts";
import { InfraProvider } from "../resources/provider/infra_provider.ts";
import { InfraProviderHealthStatus } from "../resources/provider/infra_provider_health_status.ts";
import { InfraProviderStatus } from "../resources/provider/infra_provider_status.ts";
import { MachineRequest } from "../resources/provider/machine_request.ts";
import { MachineRequestStatus } from "../resources/provider/machine_request_status.ts";
import { makeJoinConfig } from "../talos/config/join_config.ts";
import { formatMachineApiUrl } from "./config/address.ts";
import type { Config } from "./config/parse_config.ts";
import { findResource, putResource } from "./put_resource.ts";
import { encodeToken } from "./seed_tokens.ts";
import { EVENTS_PORT, LOGS_PORT } from "./tunnel_ports.ts";
import { peekResource, selectionOf } from "./typed_state.ts";

function ofProvider(id: string): Selection {
  return selectionOf({ [LABEL_INFRA_PROVIDER_ID]: id });
}

async function removedProviders(state: StateCore, config: Config): Promise<readonly string[]> {
  const declared = new Set(config.infraProviders.map(({ id }) => id));
  const stored = await state.list(InfraProvider);
  return stored.map(({ metadata }) => metadata.id).filter((id) => !declared.has(id));
}

/**
 * Makes sure that no provider with machine requests is about to be removed.
 *
 * @throws CodedError `failedPrecondition` naming each such provider and the number of its requests.
 */
export async function checkRemovedProviders(state: StateCore, config: Config): Promise<void> {
  const problems: string[] = [];
  for (const id of await removedProviders(state, config)) {
    const { length } = await state.list(MachineRequest, ofProvider(id));
    if (length > 0) problems.push(`"${id}" still has ${length} machine requests`);
  }
  if (problems.length === 0) return;
  throw new CodedError(
    "failedPrecondition",
    `Cannot remove infrastructure providers that the configuration no longer names: ${
      problems.join(", ")
    }; name them in infraProviders until their requests are gone`,
  );
}

/** Removes undeclared providers with all that is theirs, and writes the declared ones. */
export async function seedProviders(
  state: StateCore,
  config: Config,
  random: RandomBytes,
): Promise<void> {
  for (const id of await removedProviders(state, config)) await removeProvider(state, id);
  for (const { id } of config.infraProviders) {
    await putResource(state, InfraProvider, { id, spec: {} });
    await seedJoinConfig(state, config, id, random);
  }
}

/** The secret is made once; removing and declaring a provider again makes another. */
async function seedJoinConfig(
  state: StateCore,
  config: Config,
  id: string,
  random: RandomBytes,
): Promise<void> {
  const kept = peekResource(state, ProviderJoinConfig, id)?.spec.joinToken ?? "";
  const joinToken = kept === "" ? encodeToken(random(32)) : kept;
  const { kernelArgs, config: documents } = makeJoinConfig({
    apiUrl: formatMachineApiUrl(config.machineApiAdvertisedUrl),
    joinToken,
    infraProvider: id,
    eventSinkPort: EVENTS_PORT,
    logServerPort: LOGS_PORT,
  });
  await putResource(state, ProviderJoinConfig, {
    id,
    spec: { joinToken, config: { kernelArgs: [...kernelArgs], config: documents } },
    labels: { [LABEL_INFRA_PROVIDER_ID]: id },
  });
}

async function removeProvider(state: StateCore, id: string): Promise<void> {
  const own = state.kinds().filter(({ namespace }) =>
    namespace === `${PROVIDER_NAMESPACE_PREFIX}${id}`
  );
  for (const kind of own) await removeAll(state, kind);
  for (const kind of [ConfigPatchRequest, MachineRequestStatus]) {
    await removeAll(state, kind, ofProvider(id));
  }
  // The provider itself goes last, so that an interrupted removal is taken up at the next start.
  const single = [
    InfraProviderHealthStatus,
    InfraProviderStatus,
    ProviderJoinConfig,
    InfraProvider,
  ];
  for (const type of single) {
    const stored = await findResource(state, type, id);
    if (stored !== undefined) await removeForGood(state, stored);
  }
}

async function removeAll(state: StateCore, kind: Kind, selection?: Selection): Promise<void> {
  for (const resource of await state.list(kind, selection)) await removeForGood(state, resource);
}

/** Removes a resource although its provider, which holds the finalizers, will not come back. */
async function removeForGood(state: StateCore, resource: RawResource): Promise<void> {
  const { metadata } = resource;
  const { owner } = metadata;
  if (!await state.teardown(metadata, { owner })) {
    const stored = await state.get(metadata);
    const draft = {
      metadata: { ...stored.metadata, finalizers: [] },
      protoSpec: stored.protoSpec,
      yamlSpec: stored.yamlSpec,
    };
    await state.update(draft, { owner });
  }
  await state.destroy(metadata, { owner });
}
