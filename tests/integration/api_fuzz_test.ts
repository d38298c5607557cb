// SPDX-License-Identifier: AGPL-3.0-or-later

// Damaged requests to every method of the ports that strangers reach: each gets an answer that says
// what is wrong with it, nothing breaks, and nothing piles up. BATUTA_FUZZ_ROUNDS sets how many.

import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { ok } from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { CodedError } from "../../base/errors.ts";
import { silentLogger } from "../../base/log.ts";
import { openState, type StateCore } from "../../cosi/state/core.ts";
import { createStateService } from "../../cosi/state/service.ts";
import { openMemoryStore } from "../../cosi/store/memory.ts";
import { provisionService } from "../../link/provision.ts";
import {
  CreateRequestSchema,
  DestroyRequestSchema,
  GetRequestSchema,
  ListRequestSchema,
  TeardownAndDestroyRequestSchema,
  TeardownRequestSchema,
  UpdateRequestSchema,
  WatchRequestSchema,
} from "../../proto/gen/cosi/resource_pb.ts";
import { CreateSchematicFromRawRequestSchema } from "../../proto/gen/omni/management_pb.ts";
import { ClusterSpecSchema, ConfigPatchSpecSchema } from "../../proto/gen/omni/specs_pb.ts";
import { ProvisionRequestSchema } from "../../proto/gen/siderolink/link_pb.ts";
import { CATALOGUE } from "../../resources/catalogue.ts";
import { type Channel, createChannel } from "../../rpc/client.ts";
import { createRpcServer } from "../../rpc/server.ts";
import type { Service, ServiceMethod } from "../../rpc/service.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { createContentChecks } from "../../server/api/content_checks.ts";
import { createManagementServices, schematicHandlers } from "../../server/api/management.ts";
import { createPolicy } from "../../server/api/policy.ts";
import { createYamlSpecOf } from "../../server/api/yaml.ts";
import { createDecompressor } from "../../server/compression/dictionary.ts";

const ROUNDS = Number(Deno.env.get("BATUTA_FUZZ_ROUNDS") ?? 400);
/** So many calls run at once. */
const PARALLEL = 40;
/** What may stay in memory after all rounds, in bytes: caches with bounds of their own. */
const GROWTH_BYTES = 48 << 20;

/** Bytes in use once everything that nobody needs is gone. */
function usedBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  collect();
  return Deno.memoryUsage().heapUsed;
}

/** Reproducible whole numbers below a bound. */
type Random = (bound: number) => number;

function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (bound) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * bound);
  };
}

const CLUSTER = { namespace: "default", type: "Clusters.omni.sidero.dev", id: "a" };
const OWN = { namespace: "infra-provider:x", type: "M.x.infraprovider.sidero.dev", id: "b" };

function resource(
  ref: { readonly namespace: string; readonly type: string; readonly id: string },
  protoSpec: Uint8Array,
): MessageInitShape<typeof CreateRequestSchema>["resource"] {
  return {
    metadata: {
      ...ref,
      version: "1",
      phase: "running",
      finalizers: ["f"],
      labels: { "omni.sidero.dev/cluster": "a" },
      annotations: { note: "n" },
      created: { seconds: 1n, nanos: 1 },
    },
    spec: { protoSpec, yamlSpec: "a: b\n" },
  };
}

const CLUSTER_SPEC = toBinary(
  ClusterSpecSchema,
  create(ClusterSpecSchema, { talosVersion: "1.12.1", kubernetesVersion: "1.34.1", features: {} }),
);
const PATCH_SPEC = toBinary(
  ConfigPatchSpecSchema,
  create(ConfigPatchSpecSchema, {
    data: "machine:\n  sysctls: {a: b}\n",
    compressedData: Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0x58, 1, 0, 0),
  }),
);
const PATCH = { namespace: "default", type: "ConfigPatches.omni.sidero.dev", id: "p" };

/** Well-formed requests by method, from which the damaged ones are made. */
const SEEDS: Readonly<Record<string, readonly Uint8Array[]>> = {
  Get: [toBinary(GetRequestSchema, create(GetRequestSchema, CLUSTER))],
  List: [
    toBinary(
      ListRequestSchema,
      create(ListRequestSchema, {
        ...CLUSTER,
        options: {
          labelQuery: [{
            terms: [{ key: "a", op: 6, value: ["10Gi"] }, { key: "b", invert: true }],
          }],
          idQuery: { regexp: "^a.*[b-d]$" },
        },
      }),
    ),
  ],
  Create: [
    toBinary(
      CreateRequestSchema,
      create(CreateRequestSchema, { resource: resource(CLUSTER, CLUSTER_SPEC) }),
    ),
    toBinary(
      CreateRequestSchema,
      create(CreateRequestSchema, { resource: resource(PATCH, PATCH_SPEC) }),
    ),
    toBinary(
      CreateRequestSchema,
      create(CreateRequestSchema, { resource: resource(OWN, PATCH_SPEC), options: { owner: "o" } }),
    ),
  ],
  Update: [
    toBinary(
      UpdateRequestSchema,
      create(UpdateRequestSchema, {
        newResource: resource(OWN, PATCH_SPEC),
        options: { owner: "o", expectedPhase: "running" },
      }),
    ),
  ],
  Destroy: [toBinary(DestroyRequestSchema, create(DestroyRequestSchema, OWN))],
  Teardown: [toBinary(TeardownRequestSchema, create(TeardownRequestSchema, OWN))],
  TeardownAndDestroy: [
    toBinary(
      TeardownAndDestroyRequestSchema,
      create(TeardownAndDestroyRequestSchema, { ...OWN, options: { owner: "o" } }),
    ),
  ],
  Watch: [
    toBinary(
      WatchRequestSchema,
      create(WatchRequestSchema, {
        namespace: OWN.namespace,
        type: OWN.type,
        apiVersion: 1,
        options: {
          bootstrapContents: true,
          aggregated: true,
          labelQuery: [{ terms: [{ key: "a", op: 1, value: ["b"] }] }],
        },
      }),
    ),
    toBinary(
      WatchRequestSchema,
      create(WatchRequestSchema, {
        ...OWN,
        apiVersion: 1,
        options: { tailEvents: 5, startFromBookmark: new Uint8Array(16) },
      }),
    ),
  ],
  CreateSchematicFromRaw: [
    toBinary(
      CreateSchematicFromRawRequestSchema,
      create(CreateSchematicFromRawRequestSchema, {
        rawSchematic: new TextEncoder().encode("customization: {}\n"),
        talosVersion: "1.12.1",
      }),
    ),
  ],
  Provision: [
    toBinary(
      ProvisionRequestSchema,
      create(ProvisionRequestSchema, {
        nodeUuid: "da201591-b193-433d-a24b-5f76d2aa46ca",
        nodePublicKey: new Uint8Array(32).fill(3).toBase64(),
        joinToken: "token",
        nodeUniqueToken: "{}",
        talosVersion: "v1.12.1",
      }),
    ),
  ],
};

/** Changes bytes, cuts, repeats and inserts; now and then nothing at all is left of the seed. */
function damage(seed: Uint8Array, random: Random): Uint8Array {
  if (random(20) === 0) return Uint8Array.from({ length: random(64) }, () => random(256));
  let bytes = [...seed];
  for (let hits = random(6); hits > 0; hits--) {
    const at = random(bytes.length + 1);
    switch (random(5)) {
      case 0:
        bytes[at] = random(256);
        break;
      case 1:
        bytes = bytes.slice(0, at);
        break;
      case 2:
        bytes.splice(at, random(8));
        break;
      case 3:
        bytes.splice(at, 0, ...Array.from({ length: random(8) }, () => random(256)));
        break;
      default:
        bytes.splice(at, 0, ...bytes.slice(at, at + random(40)));
    }
  }
  return Uint8Array.from(bytes);
}

/** Calls a method; a call that would last is given up after a moment. */
async function call(channel: Channel, { path, type }: ServiceMethod, request: Uint8Array) {
  if (type === "unary") return await channel.rawCall(path, request, { timeoutMs: 20 });
  const stream = channel.rawStream(path, { timeoutMs: 20 });
  try {
    await stream.send(request);
    stream.end();
    for await (const _ of stream.messages);
  } finally {
    stream.cancel();
  }
}

async function fuzz(channel: Channel, method: ServiceMethod, seed: number): Promise<void> {
  const random = randomFrom(seed);
  const seeds = SEEDS[method.name] ?? [new Uint8Array()];
  const one = async (round: number): Promise<void> => {
    const request = damage(seeds[random(seeds.length)] ?? new Uint8Array(), random);
    try {
      await call(channel, method, request);
    } catch (error) {
      const isAnswer = error instanceof CodedError && error.code !== "internal" &&
        error.code !== "unknown" && error.code !== "unavailable";
      ok(isAnswer, `${method.path}, seed ${seed}, round ${round}, ${request.toHex()}: ${error}`);
    }
  };
  for (let round = 0; round < ROUNDS; round += PARALLEL) {
    await Promise.all(Array.from({ length: PARALLEL }, (_, index) => one(round + index)));
  }
}

/** Removes what damaged requests have written. */
async function empty(state: StateCore): Promise<void> {
  for (const kind of state.kinds()) {
    for (const { metadata, protoSpec, yamlSpec } of await state.list(kind)) {
      const { owner } = metadata;
      const freed = { metadata: { ...metadata, finalizers: [] }, protoSpec, yamlSpec };
      if (metadata.finalizers.length > 0) await state.update(freed, { owner });
      await state.destroy(metadata, { owner });
    }
  }
}

function createServices(state: StateCore): readonly Service[] {
  const declared = new Set(CATALOGUE.map(({ type }) => type));
  return [
    createStateService(state, {
      policy: createPolicy({
        types: CATALOGUE,
        peek: (ref) => state.peek(ref),
        checkReferences: createContentChecks(state, createDecompressor(undefined)),
      }),
      yamlSpecOf: createYamlSpecOf(CATALOGUE),
      isDeclared: (type) => declared.has(type),
    }),
    ...createManagementServices(schematicHandlers({ upload: () => Promise.resolve("0") })),
    provisionService({
      join: () => Promise.reject(new CodedError("permissionDenied", "The join token is unknown")),
    }),
  ];
}

Deno.test(`every method answers ${ROUNDS} damaged requests and nothing piles up`, async () => {
  const state = await openState({ store: openMemoryStore() });
  const services = createServices(state);
  // The calls that are given up count as a flood, which is another test's subject.
  const server = createRpcServer({ services, log: silentLogger, limits: { maxResetsPer10s: 1e9 } });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener;
  const serving = server.serve(listener);
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "test",
  });
  const seed = crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
  try {
    await channel.connect();
    const before = usedBytes();
    for (const method of services.flatMap(({ methods }) => methods)) {
      await fuzz(channel, method, seed);
      await empty(state);
    }
    const growth = usedBytes() - before;
    ok(growth < GROWTH_BYTES, `seed ${seed}: ${Math.round(growth / 2 ** 20)} MiB stay in memory`);
  } finally {
    channel.close();
    server.close();
    listener.close();
    await serving;
    await state.close();
  }
});
