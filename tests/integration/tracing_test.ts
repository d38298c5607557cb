// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The spans of a running server, as a collector gets them.
 *
 * @module
 */

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { startMachine } from "../../lab/machine.ts";
import { Cluster } from "../../resources/cluster/cluster.ts";
import { JOIN_TOKEN, listResources, startServerProcess, within } from "./server_process.ts";

/** Generous: the tests share their processors with others. */
const DEADLINE_MS = 60_000;

/** Kinds of spans on the wire of OTLP, which counts from one. */
const KIND = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string | number };
  }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface Collector extends AsyncDisposable {
  readonly port: number;
  readonly spans: readonly ReceivedSpan[];
  /** Everything that came, as it came. */
  text(): string;
}

/** Receives OTLP over HTTP, in JSON. */
function startCollector(): Collector {
  const spans: ReceivedSpan[] = [];
  let all = "";
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (ask) => {
    const text = await ask.text();
    all += text;
    if (new URL(ask.url).pathname === "/v1/traces") {
      for (const { scopeSpans } of JSON.parse(text).resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
    }
    return Response.json({});
  });
  return {
    port: server.addr.port,
    spans,
    text: () => all,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

function attributesOf({ attributes = [] }: ReceivedSpan): Record<string, string | number> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]),
  );
}

function environment(collector: Collector): Record<string, string> {
  return {
    OTEL_DENO: "true",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "100",
  };
}

Deno.test("a server exports spans of its calls, those of machines and reconciles", async () => {
  await using collector = startCollector();
  await using server = await startServerProcess({ env: environment(collector) });
  const { spans } = collector;
  const find = (name: string, kind: number): ReceivedSpan | undefined =>
    spans.find((span) => span.name === name && span.kind === kind);

  strictEqual((await listResources(server.state, Cluster)).length, 0);
  const { namespace, type } = Cluster;
  await rejects(server.state.get({ namespace, type, id: "none" }), { code: "notFound" });
  const machine = startMachine({ kernelArgs: server.kernelArgs });
  try {
    await within(
      DEADLINE_MS,
      "spans of a call of the machine",
      () => find("machine.MachineService/MetaWrite", KIND.client) !== undefined,
    );
    await within(
      DEADLINE_MS,
      "spans of calls",
      () => find("cosi.resource.State/Get", KIND.server) !== undefined,
    );
  } finally {
    await machine.close();
  }

  const list = find("cosi.resource.State/List", KIND.server);
  ok(list);
  deepStrictEqual(attributesOf(list), {
    "rpc.system": "grpc",
    "rpc.service": "cosi.resource.State",
    "rpc.method": "List",
    "rpc.grpc.status_code": 0,
  });
  ok(BigInt(list.endTimeUnixNano) > BigInt(list.startTimeUnixNano));
  // That a resource is not there is the client's affair, and no error of the server.
  const get = find("cosi.resource.State/Get", KIND.server);
  strictEqual(get && attributesOf(get)["rpc.grpc.status_code"], 5);
  ok((get?.status?.code ?? 0) !== STATUS_ERROR);
  ok(find("sidero.link.ProvisionService/Provision", KIND.server));

  const write = find("machine.MachineService/MetaWrite", KIND.client);
  ok(write);
  const { "server.address": address, ...attributes } = attributesOf(write);
  deepStrictEqual(attributes, {
    "rpc.system": "grpc",
    "rpc.service": "machine.MachineService",
    "rpc.method": "MetaWrite",
    "server.port": 50_000,
    "rpc.grpc.status_code": 0,
  });
  ok(String(address).startsWith("fdae:41e4:649b:9303:"), String(address));
  // The call belongs to the action of the reconcile that made it.
  const parentOf = ({ parentSpanId, traceId }: ReceivedSpan): ReceivedSpan | undefined =>
    spans.find((span) => span.spanId === parentSpanId && span.traceId === traceId);
  await within(DEADLINE_MS, "the span of the reconcile", () => {
    const act = parentOf(write);
    return act?.name === "act" && parentOf(act)?.name === "reconcile";
  });

  strictEqual(await server.end("SIGTERM"), 0);
  for (const secret of [JOIN_TOKEN, server.stateKey]) {
    ok(!collector.text().includes(secret), "a span tells a secret");
  }
});

Deno.test("a server exports nothing unless its environment asks for it", async () => {
  await using collector = startCollector();
  const { OTEL_DENO: _, ...rest } = environment(collector);
  await using server = await startServerProcess({ env: rest });
  strictEqual((await listResources(server.state, Cluster)).length, 0);
  strictEqual(await server.end("SIGTERM"), 0);
  strictEqual(collector.text(), "");
});
