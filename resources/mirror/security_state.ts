// SPDX-License-Identifier: AGPL-3.0-or-later

/** Copies of the machines' type `SecurityState`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SecurityStateSpecSchema } from "../../proto/gen/talos/resource/runtime_pb.ts";

/**
 * How the machine was booted: secure boot, unified kernel image; the ID ends in `securitystate`.
 */
export const TalosSecurityState = defineResource({
  type: "SecurityStates.talos.dev",
  namespace: "talos-mirror",
  schema: SecurityStateSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [
      { name: "SecureBoot", jsonPath: "{.secureBoot}" },
      { name: "UKISigningKeyFingerprint", jsonPath: "{.ukiSigningKeyFingerprint}" },
      { name: "PCRSigningKeyFingerprint", jsonPath: "{.pcrSigningKeyFingerprint}" },
      { name: "SELinuxState", jsonPath: "{.selinuxState}" },
      { name: "ModuleSignatureEnforced", jsonPath: "{.moduleSignatureEnforced}" },
    ],
  },
});
