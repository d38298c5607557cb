// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `Notification`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { NotificationSpecSchema } from "../../proto/gen/omni/specs_pb.ts";

/** A message that a dashboard shows. */
export const Notification = defineResource({
  type: "Notifications.omni.sidero.dev",
  namespace: "ephemeral",
  schema: NotificationSpecSchema,
  access: "readOnly",
  ephemeral: true,
});
