// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Resource types for the tests of the engine, on schemas that happen to fit.
 *
 * @module
 */

import {
  LinkStatusSpecSchema,
  MachineSpecSchema,
  SiderolinkSpecSchema,
  SysVersionSpecSchema,
} from "../../proto/gen/omni/specs_pb.ts";
import { defineResource } from "../resource.ts";

/** The primary of most tests; `managementAddress` is its content. */
export const Source = defineResource({
  type: "Sources.test",
  namespace: "default",
  schema: MachineSpecSchema,
  access: "readOnly",
});

/** An input beside the primary; `lastEndpoint` is its content. */
export const Extra = defineResource({
  type: "Extras.test",
  namespace: "default",
  schema: SiderolinkSpecSchema,
  access: "readOnly",
});

/** The output of most tests; `linkId` is its content. */
export const Target = defineResource({
  type: "Targets.test",
  namespace: "default",
  schema: LinkStatusSpecSchema,
  access: "readOnly",
});

/** What is made of a target; `backendVersion` is its content. */
export const Derived = defineResource({
  type: "Deriveds.test",
  namespace: "default",
  schema: SysVersionSpecSchema,
  access: "readOnly",
});

/** The label that ties an input to a source. */
export const PARENT = "test/parent";
