// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The declarations of all controllers, for checks and documents, without the adapters behind them.
 *
 * @module
 */

import { type Adapters, controllerCatalogue } from "../controllers/catalogue.ts";
import type { Controller } from "../cosi/controller.ts";

/** Anything a controller may ask of its adapters while it is declared; it cannot be run on this. */
function inertAdapter(): unknown {
  const inert: unknown = new Proxy(() => inert, { get: () => inert });
  return inert;
}

/** Declares every controller of the catalogue. */
export function declareControllers(): readonly Controller[] {
  return controllerCatalogue(inertAdapter() as Adapters);
}
