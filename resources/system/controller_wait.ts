// SPDX-License-Identifier: AGPL-3.0-or-later

/** The type `ControllerWait`. @module */

import { defineResource } from "../../cosi/resource.ts";
import { ControllerWaitSpecSchema } from "../../proto/gen/batuta/engine_pb.ts";

/** Carries the type of the item that waits. */
export const LABEL_ITEM_TYPE = "batuta.altlinux.org/item-type";
/** Carries the ID of the item that waits. */
export const LABEL_ITEM_ID = "batuta.altlinux.org/item-id";

/**
 * Why an item of a controller is not where it should be; the ID is `<controller>/<ID of the item>`.
 *
 * Its labels are {@linkcode LABEL_ITEM_TYPE} and {@linkcode LABEL_ITEM_ID}.
 */
export const ControllerWait = defineResource({
  type: "ControllerWaits.batuta.altlinux.org",
  namespace: "ephemeral",
  schema: ControllerWaitSpecSchema,
  access: "readOnly",
  display: {
    displayType: "ControllerWait",
    aliases: ["wait", "waits"],
    printColumns: [
      { name: "State", jsonPath: "{.state}" },
      { name: "Attempts", jsonPath: "{.attempts}" },
      { name: "Reason", jsonPath: "{.reason}" },
    ],
  },
  ephemeral: true,
});
