// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The versions that clusters may have, from the configuration.
 *
 * @module
 */

import type { State } from "../cosi/state/state.ts";
import { ANNOTATION_TALOS_VERSION } from "../resources/labels.ts";
import { TalosVersion } from "../resources/talos/talos_version.ts";
import type { OfferedVersion } from "./config/parse_config.ts";
import { putResource, removeResource } from "./put_resource.ts";

/** Writes a resource for each offered version and removes those that are no longer offered. */
export async function seedTalosVersions(
  state: State,
  { talosVersions }: { readonly talosVersions: readonly OfferedVersion[] },
): Promise<void> {
  const offered = new Set(talosVersions.map(({ version }) => version));
  for (const { metadata } of await state.list(TalosVersion)) {
    if (!offered.has(metadata.id)) {
      await removeResource(state, TalosVersion, metadata.id, metadata.owner);
    }
  }
  for (const { version, talos, kubernetes, deprecated } of talosVersions) {
    await putResource(state, TalosVersion, {
      id: version,
      spec: { version, compatibleKubernetesVersions: [...kubernetes], deprecated },
      annotations: { [ANNOTATION_TALOS_VERSION]: talos },
    });
  }
}
