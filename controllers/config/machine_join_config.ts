// SPDX-License-Identifier: AGPL-3.0-or-later

/** Makes the documents and kernel arguments by which a machine finds this server. @module */

import {
  allOf,
  type Controller,
  defineController,
  type Plan,
  type Reader,
  wait,
} from "../../cosi/controller.ts";
import type { Resource } from "../../cosi/resource.ts";
import { DefaultJoinToken } from "../../resources/link/default_join_token.ts";
import { MachineJoinConfig } from "../../resources/link/machine_join_config.ts";
import { SiderolinkAPIConfig } from "../../resources/link/siderolink_api_config.ts";
import { Machine } from "../../resources/machine/machine.ts";
import { makeJoinConfig } from "../../talos/config/join_config.ts";

/** What the documents depend on besides the machine. */
export interface JoinConfigFacts {
  readonly api: Resource<typeof SiderolinkAPIConfig> | undefined;
  readonly token: Resource<typeof DefaultJoinToken> | undefined;
}

/** Creates the controller. */
export function machineJoinConfigController(): Controller {
  return defineController({
    name: "config.MachineJoinConfigController",
    primary: Machine,
    mapped: [allOf(SiderolinkAPIConfig), allOf(DefaultJoinToken)],
    output: MachineJoinConfig,
    gather: gatherJoinConfigFacts,
    plan: planMachineJoinConfig,
  });
}

async function gatherJoinConfigFacts(
  _machine: Resource<typeof Machine>,
  reader: Reader<typeof SiderolinkAPIConfig | typeof DefaultJoinToken>,
): Promise<JoinConfigFacts> {
  // There is one of each, whatever its ID.
  const [api, token] = await Promise.all([
    reader.list(SiderolinkAPIConfig),
    reader.list(DefaultJoinToken),
  ]);
  return { api: api[0], token: token[0] };
}

/** Derives the documents. */
export function planMachineJoinConfig(
  machine: Resource<typeof Machine>,
  { api, token }: JoinConfigFacts,
): Plan<typeof MachineJoinConfig> {
  if (api === undefined) return wait("the server's own address is not known yet");
  if (token === undefined) return wait("there is no default join token yet");
  const { kernelArgs, config } = makeJoinConfig({
    apiUrl: api.spec.machineApiAdvertisedUrl,
    joinToken: token.spec.tokenId,
    useGrpcTunnel: machine.spec.useGrpcTunnel,
    eventSinkPort: api.spec.eventsPort,
    logServerPort: api.spec.logsPort,
  });
  return { kind: "write", spec: { config: { kernelArgs: [...kernelArgs], config } } };
}
