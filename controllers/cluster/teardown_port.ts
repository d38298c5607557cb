// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a controller removes what a user wrote, when the whole that it belongs to is removed.
 *
 * @module
 */

import type { CallOptions } from "../../cosi/controller.ts";
import type { ResourceType } from "../../cosi/resource.ts";

/** Marks resources that have no owner for removal. */
export interface TeardownPort {
  /** Resources that are gone, or marked before, are passed over. */
  tearDown(type: ResourceType, ids: readonly string[], options: CallOptions): Promise<void>;
}
