// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Rules of a ConfigPatch's labels; its content is checked where configurations are understood.
 *
 * @module
 */

import type { ConfigPatchSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import {
  LABEL_CLUSTER,
  LABEL_CLUSTER_MACHINE,
  LABEL_INFRA_PROVIDER_ID,
  LABEL_MACHINE,
  LABEL_MACHINE_REQUEST,
  LABEL_MACHINE_SET,
} from "../labels.ts";
import { onWrite, requireLabel, type Rule, validatorOf } from "../rules.ts";

const checkScope: Rule<typeof ConfigPatchSpecSchema> = ({ metadata }, refuse) => {
  const has = (name: string): boolean => Object.hasOwn(metadata.labels, name);
  if (!has(LABEL_CLUSTER) && !has(LABEL_MACHINE)) {
    refuse("metadata.labels", `must hold ${LABEL_CLUSTER} or ${LABEL_MACHINE}`);
  }
  for (const name of [LABEL_MACHINE_SET, LABEL_CLUSTER_MACHINE]) {
    if (has(name) && !has(LABEL_CLUSTER)) {
      refuse(`metadata.labels["${name}"]`, `needs ${LABEL_CLUSTER} beside it`);
    }
  }
};

/** Validates the labels of a ConfigPatch. */
export const validateConfigPatch = validatorOf<typeof ConfigPatchSpecSchema>(onWrite(checkScope));

/** Validates the labels of a ConfigPatchRequest. */
export const validateConfigPatchRequest = validatorOf<typeof ConfigPatchSpecSchema>(
  onWrite(({ metadata }, refuse) => {
    requireLabel(metadata, LABEL_INFRA_PROVIDER_ID, refuse);
    requireLabel(metadata, LABEL_MACHINE_REQUEST, refuse);
  }),
);
