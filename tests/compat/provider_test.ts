// SPDX-License-Identifier: AGPL-3.0-or-later

// A provider on the public SDK against a server: it starts, serves a machine request, and lets go.

import { fromBinary } from "@bufbuild/protobuf";
import { match, ok, strictEqual } from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { createRemoteState } from "../../cosi/state/grpc_client.ts";
import type { State } from "../../cosi/state/state.ts";
import { ConfigPatchRequest } from "../../resources/provider/config_patch_request.ts";
import { InfraProviderStatus } from "../../resources/provider/infra_provider_status.ts";
import { MachineRequest } from "../../resources/provider/machine_request.ts";
import { MachineRequestStatus } from "../../resources/provider/machine_request_status.ts";
import { createChannel } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { parseConfig } from "../../server/config/parse_config.ts";
import { putResource } from "../../server/put_resource.ts";
import { startServer } from "../../server/serve.ts";
import { endChild } from "../child_process.ts";
import { buildGo, hasProgram } from "./lab_server.ts";

const DICTIONARY = new URL("../../../shared/data/omni/config.1.zdict", import.meta.url).pathname;
const SCHEMATIC = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
/** The stage of a request that is done. */
const PROVISIONED = 2;

/** Waits until a resource of a kind is as wanted, with a deadline. */
async function until(
  state: State,
  kind: { readonly namespace: string; readonly type: string },
  isWanted: (
    event: { readonly id: string; readonly spec: Uint8Array; readonly type: string },
  ) => boolean,
): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  const watch = await state.watchKind(kind, { bootstrapContents: true, signal });
  for await (const events of watch) {
    for (const { type, resource: { metadata, protoSpec } } of events) {
      if (isWanted({ id: metadata.id, spec: protoSpec, type })) return;
    }
  }
  throw new Error(`${kind.type} did not become as wanted`);
}

/** Runs a test with a server that declares the provider, and a factory that takes every schematic. */
async function withServer(
  body: (endpoint: string, state: State, schematics: readonly string[]) => Promise<void>,
): Promise<void> {
  const schematics: string[] = [];
  const listening = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const factory = Deno.serve(listening, async (request) => {
    schematics.push(await request.text());
    return Response.json({ id: SCHEMATIC }, { status: 201 });
  });
  const factoryUrl = `http://127.0.0.1:${factory.addr.port}`;
  const server = await startServer(
    parseConfig(JSON.stringify({
      machineApiAdvertisedUrl: "grpc://127.0.0.1:1",
      api: { bindAddress: "127.0.0.1:0" },
      siderolink: { bindAddress: "127.0.0.1:0", allowLocalAdvertised: true },
      wireguard: { enabled: false, advertisedEndpoint: "127.0.0.1:1" },
      state: { kind: "memory" },
      imageFactory: { baseUrl: factoryUrl, pxeBaseUrl: factoryUrl },
      compression: { dictionaryPath: DICTIONARY },
      infraProviders: [{ id: "test" }],
    })),
    { log: silentLogger },
  );
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port: server.apiPort, signal }),
    authority: "test",
  });
  try {
    const state = createRemoteState(channel);
    await body(`http://127.0.0.1:${server.apiPort}`, state, schematics);
  } finally {
    channel.close();
    await server.close();
    await factory.shutdown();
  }
}

async function servesRequests(
  state: State,
  said: (line: string) => Promise<void>,
  schematics: readonly string[],
): Promise<void> {
  await until(state, InfraProviderStatus, ({ id }) => id === "test");
  await putResource(state, MachineRequest, {
    id: "one",
    spec: { talosVersion: "1.12.11", extensions: ["siderolabs/hello"] },
    labels: { "omni.sidero.dev/infra-provider-id": "test" },
  });
  await said("provisioned one");
  await until(state, MachineRequestStatus, ({ id, spec }) => {
    const { schema } = MachineRequestStatus;
    return id === "one" && fromBinary(schema, spec).stage === PROVISIONED;
  });
  const status = await state.get({
    namespace: "infra-provider",
    type: MachineRequestStatus.type,
    id: "one",
  });
  strictEqual(
    status.decode(MachineRequestStatus.schema).id,
    "da201591-b193-433d-a24b-5f76d2aa46ca",
  );
  match(schematics.join("\n"), /siderolabs\/hello/);
  const [patch] = await state.list(ConfigPatchRequest);
  ok((patch?.decode(ConfigPatchRequest.schema).compressedData.length ?? 0) > 0);
  match(patch?.yamlSpec ?? "", /a\.b: "1"/);
  await state.teardownAndDestroy({
    namespace: "infra-provider",
    type: MachineRequest.type,
    id: "one",
  }, { signal: AbortSignal.timeout(60_000) });
  await said("deprovisioned one");
  strictEqual((await state.list(MachineRequestStatus)).length, 0);
  strictEqual((await state.list(ConfigPatchRequest)).length, 0);
}

const missing = !hasProgram("go", "version")
  ? " (skipped: go is not installed)"
  : !hasDictionary()
  ? " (skipped: needs ../shared)"
  : "";

function hasDictionary(): boolean {
  try {
    return Deno.statSync(DICTIONARY).isFile;
  } catch {
    return false;
  }
}

Deno.test({
  name: `a provider on the public SDK makes a machine and takes it away${missing}`,
  ignore: missing !== "",
  async fn() {
    const home = await Deno.makeTempDir();
    try {
      const binary = `${home}/provider`;
      await buildGo("provider", binary);
      await withServer(async (endpoint, state, schematics) => {
        const child = new Deno.Command(binary, {
          args: [endpoint],
          stdout: "piped",
          stderr: "piped",
          signal: AbortSignal.timeout(150_000),
        }).spawn();
        let log = "";
        const logging = (async () => {
          for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) log += part;
        })();
        const output = child.stdout.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
        let text = "";
        const said = async (line: string): Promise<void> => {
          while (!text.includes(`${line}\n`)) {
            const { value, done } = await output.next();
            if (done) throw new Error(`the provider ended: ${log}`);
            text += value;
          }
        };
        try {
          await servesRequests(state, said, schematics);
        } finally {
          await endChild(child, "SIGKILL");
          await logging;
          await output.return?.();
        }
      });
    } finally {
      await Deno.remove(home, { recursive: true });
    }
  },
});
