// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Puts a configuration in force.
 *
 * @module
 */

import type { Boot } from "./boot.ts";
import { stableHostname } from "./hardware.ts";
import type { MachineConfig } from "./machine_config.ts";
import { publishConfig, publishHostname } from "./network.ts";

/** Makes a configuration the active one and tells everything that follows from it. */
export function applyTo(boot: Boot, config: MachineConfig): void {
  boot.config = config;
  publishHostname(boot, config.facts.hostname ?? stableHostname(boot.core.hardware.uuid));
  publishConfig(boot);
  boot.core.changed.fire();
}
