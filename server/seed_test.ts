// SPDX-License-Identifier: AGPL-3.0-or-later

import { create, toBinary } from "@bufbuild/protobuf";
import { deepStrictEqual, notStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { openState, type StateCore } from "../cosi/state/core.ts";
import { openMemoryStore } from "../cosi/store/memory.ts";
import type { ResourceType, SpecOf } from "../cosi/resource.ts";
import { secureRandom } from "../link/addresses.ts";
import { Config as ServerIdentity } from "../resources/link/config.ts";
import { ConnectionParam } from "../resources/link/connection_param.ts";
import { DefaultJoinToken } from "../resources/link/default_join_token.ts";
import { JoinToken } from "../resources/link/join_token.ts";
import { ProviderJoinConfig } from "../resources/link/provider_join_config.ts";
import { InfraProvider } from "../resources/provider/infra_provider.ts";
import { MachineRequest } from "../resources/provider/machine_request.ts";
import { FeaturesConfig } from "../resources/system/features_config.ts";
import { SysVersion } from "../resources/system/sys_version.ts";
import { TalosVersion } from "../resources/talos/talos_version.ts";
import { parseConfig } from "./config/parse_config.ts";
import { findResource, putResource } from "./put_resource.ts";
import { seedState, type ServerMaterial } from "./seed.ts";

const BASE = `
machineApiAdvertisedUrl: grpc://batuta.example.org:8090
wireguard: { advertisedEndpoint: "batuta.example.org:50180" }
state: { kind: memory }
`;

function seed(state: StateCore, more = ""): Promise<ServerMaterial> {
  return seedState(state, parseConfig(BASE + more), { version: "1.2.3", random: secureRandom });
}

async function withState(body: (state: StateCore) => Promise<void>): Promise<void> {
  const state = await openState({ store: openMemoryStore() });
  try {
    await body(state);
  } finally {
    await state.close();
  }
}

async function specOf<T extends ResourceType>(
  state: StateCore,
  type: T,
  id: string,
): Promise<SpecOf<T> | undefined> {
  const stored = await findResource(state, type, id);
  return stored?.decode(type.schema) as SpecOf<T> | undefined;
}

/** The join token that new machines present by default. */
async function tokenOf(state: StateCore): Promise<string> {
  const { tokenId = "" } = await specOf(state, DefaultJoinToken, "default") ?? {};
  notStrictEqual(tokenId, "");
  return tokenId;
}

Deno.test("seedState() keeps keys, tokens and versions of resources over a second start", () =>
  withState(async (state) => {
    const first = await seed(state, "infraProviders: [{ id: proxmox }]");
    const token = await tokenOf(state);
    const secret = await specOf(state, ProviderJoinConfig, "proxmox");
    const identity = await findResource(state, ServerIdentity, "siderolink-config");
    const second = await seed(state, "infraProviders: [{ id: proxmox }]");
    strictEqual(second.privateKey.reveal(), first.privateKey.reveal());
    strictEqual(second.publicKey, first.publicKey);
    strictEqual(await tokenOf(state), token);
    deepStrictEqual(await specOf(state, ProviderJoinConfig, "proxmox"), secret);
    const again = await findResource(state, ServerIdentity, "siderolink-config");
    strictEqual(again?.metadata.version, identity?.metadata.version);
  }));

Deno.test("seedState() makes a configured token the default and keeps earlier ones valid", () =>
  withState(async (state) => {
    await seed(state);
    const made = await tokenOf(state);
    await seed(state, "siderolink: { initialJoinToken: secret-a }");
    strictEqual(await tokenOf(state), "secret-a");
    await seed(state);
    strictEqual(await tokenOf(state), "secret-a");
    const tokens = (await state.list(JoinToken)).map(({ metadata }) => metadata.id);
    deepStrictEqual(tokens.toSorted(), [made, "secret-a"].toSorted());
  }));

Deno.test("seedState() writes the connection parameters over changes made by hand", () =>
  withState(async (state) => {
    await seed(state, "siderolink: { initialJoinToken: a b& }");
    strictEqual(await tokenOf(state), "a b&");
    await putResource(state, ConnectionParam, { id: "siderolink-config", spec: { args: "x" } });
    await putResource(state, FeaturesConfig, { id: "features-config", spec: {} });
    await seed(state);
    const params = await specOf(state, ConnectionParam, "siderolink-config");
    strictEqual(
      params?.args,
      "siderolink.api=grpc://batuta.example.org:8090?jointoken=a+b%26 " +
        "talos.events.sink=[fdae:41e4:649b:9303::1]:8091 " +
        "talos.logging.kernel=tcp://[fdae:41e4:649b:9303::1]:8092",
    );
    deepStrictEqual([params.eventsPort, params.logsPort], [8091, 8092]);
    const features = await specOf(state, FeaturesConfig, "features-config");
    strictEqual(features?.imageFactoryPxeBaseUrl, "https://pxe.factory.altlinux.space");
    const version = await specOf(state, SysVersion, "current");
    strictEqual(version?.backendVersion, "v1.10.4+batuta.1.2.3");
  }));

Deno.test("seedState() offers exactly the configured versions", () =>
  withState(async (state) => {
    await seed(
      state,
      `talosVersions: [{ version: "11.0", talos: "1.12.10", kubernetes: ["1.34.1"] }, ` +
        `{ version: v1.12.9, kubernetes: ["1.34.1"], deprecated: true }]`,
    );
    const image = await findResource(state, TalosVersion, "11.0");
    deepStrictEqual(image?.metadata.annotations, {
      "batuta.altlinux.org/talos-version": "1.12.10",
    });
    strictEqual((await specOf(state, TalosVersion, "1.12.9"))?.deprecated, true);
    await seed(state, `talosVersions: [{ version: "11.0", kubernetes: ["1.34.1"] }]`);
    const left = await state.list(TalosVersion);
    deepStrictEqual(left.map(({ metadata }) => metadata.id), ["11.0"]);
    deepStrictEqual(left[0]?.metadata.annotations, { "batuta.altlinux.org/talos-version": "11.0" });
  }));

Deno.test("seedState() refuses to remove a provider with requests, and writes nothing", () =>
  withState(async (state) => {
    await seed(state, "infraProviders: [{ id: proxmox }]");
    await putResource(state, MachineRequest, {
      id: "one",
      spec: {},
      labels: { "omni.sidero.dev/infra-provider-id": "proxmox" },
    });
    await rejects(seed(state, "infraProviders: [{ id: other }]"), {
      code: "failedPrecondition",
      message: /"proxmox" still has 1 machine requests/,
    });
    strictEqual(await findResource(state, InfraProvider, "other"), undefined);
  }));

Deno.test("seedState() removes a provider with all that is its own, and makes a new secret", () =>
  withState(async (state) => {
    await seed(state, "infraProviders: [{ id: proxmox }]");
    const secret = (await specOf(state, ProviderJoinConfig, "proxmox"))?.joinToken;
    const namespace = "infra-provider:proxmox";
    const type = "Machines.proxmox.infraprovider.sidero.dev";
    await state.create({
      metadata: {
        namespace,
        type,
        id: "vm",
        version: 0,
        owner: "proxmox.ProvisionController",
        phase: "running",
        created: undefined,
        updated: undefined,
        finalizers: ["proxmox.ProvisionController"],
        labels: {},
        annotations: {},
      },
      protoSpec: toBinary(InfraProvider.schema, create(InfraProvider.schema)),
      yamlSpec: "",
    }, { owner: "proxmox.ProvisionController" });
    await seed(state);
    strictEqual(await findResource(state, InfraProvider, "proxmox"), undefined);
    strictEqual(await findResource(state, ProviderJoinConfig, "proxmox"), undefined);
    deepStrictEqual(await state.list({ namespace, type }), []);
    await seed(state, "infraProviders: [{ id: proxmox }]");
    notStrictEqual((await specOf(state, ProviderJoinConfig, "proxmox"))?.joinToken, secret);
  }));
