// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `SAMLLabelRule`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { SAMLLabelRuleSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { writable } from "../access.ts";

/** Gives a role to those who carry a label of the identity provider. */
export const SAMLLabelRule = defineResource({
  type: "SAMLLabelRules.omni.sidero.dev",
  namespace: "default",
  schema: SAMLLabelRuleSpecSchema,
  access: writable(),
  display: {
    printColumns: [{ name: "Role On Registration", jsonPath: "{.assignroleonregistration}" }, {
      name: "Match Labels",
      jsonPath: "{.matchlabels}",
    }],
  },
});
