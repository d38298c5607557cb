// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of a MachineRequest that need nothing but the request.
 *
 * @module
 */

import type { MachineRequestSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { LABEL_INFRA_PROVIDER_ID } from "../labels.ts";
import {
  fixedLabels,
  hasChanged,
  onWrite,
  parseVersion,
  requireLabel,
  type Rule,
  validatorOf,
} from "../rules.ts";

type RequestRule = Rule<typeof MachineRequestSpecSchema>;

/** Kernel arguments that the server adds itself; a second one would lead the machine elsewhere. */
const SERVER_ARGUMENTS = ["siderolink.api", "talos.events.sink", "talos.logging.kernel"];

const checkContent: RequestRule = ({ metadata, spec, stored }, refuse) => {
  requireLabel(metadata, LABEL_INFRA_PROVIDER_ID, refuse);
  // A stored request was accepted; providers write it back whole to change its finalizers.
  if (stored !== undefined && !hasChanged(stored.spec, spec)) return;
  const version = spec.talosVersion.replace(/^v/, "");
  if (parseVersion(version) === undefined) {
    refuse("spec.talosVersion", "must be a version such as 1.12.10", spec.talosVersion);
  }
  for (const [index, argument] of spec.kernelArgs.entries()) {
    const name = argument.split("=", 1)[0] ?? "";
    if (!SERVER_ARGUMENTS.includes(name)) continue;
    // Its value may hold a join token.
    refuse(`spec.kernelArgs[${index}]`, `must not be ${name}, which the provider adds itself`);
  }
};

/** Validates a MachineRequest. */
export const validateMachineRequest = validatorOf<typeof MachineRequestSpecSchema>(
  onWrite(checkContent),
  onWrite(fixedLabels(LABEL_INFRA_PROVIDER_ID)),
);
