// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The management service: what clients ask of the server beyond its state.
 *
 * It answers under the name of the contract and under our own. A method that is not there answers
 * Unimplemented with its name, on which clients fall back: for GetInstallationMediaURL, which only
 * later clients know, they make the URL from FeaturesConfig.
 *
 * @module
 */

import { ManagementService } from "../../proto/gen/omni/management_pb.ts";
import type { Handlers, Service } from "../../rpc/service.ts";
import { implementService } from "../../rpc/service.ts";
import type { SchematicUploader } from "./schematics.ts";

/** Our own name of the service. */
const OWN_NAME = "batuta.management.v1.ManagementService";

/** The handlers of methods, by name in camel case. */
export type ManagementHandlers = Partial<Handlers<typeof ManagementService>>;

/** The handler of uploads. */
export function schematicHandlers(uploader: SchematicUploader): ManagementHandlers {
  return {
    createSchematicFromRaw: async ({ rawSchematic }, { signal }) => ({
      schematicId: await uploader.upload(rawSchematic, signal),
      schematicYml: new TextDecoder().decode(rawSchematic),
    }),
  };
}

/** Creates the service under both of its names. */
export function createManagementServices(handlers: ManagementHandlers): readonly Service[] {
  return [ManagementService.typeName, OWN_NAME].map((name) =>
    implementService(ManagementService, handlers, { name })
  );
}
