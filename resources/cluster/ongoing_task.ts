// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `OngoingTask`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { OngoingTaskSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A task in progress that a dashboard shows. */
export const OngoingTask = defineResource({
  type: "OngoingTasks.omni.sidero.dev",
  namespace: "ephemeral",
  schema: OngoingTaskSpecSchema,
  access: "readOnly",
  display: {
    printColumns: [{ name: "Title", jsonPath: "{.title}" }],
  },
  ephemeral: true,
});
