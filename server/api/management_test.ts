// SPDX-License-Identifier: AGPL-3.0-or-later

import { rejects, strictEqual } from "node:assert/strict";
import { silentLogger } from "../../base/log.ts";
import { ManagementService } from "../../proto/gen/omni/management_pb.ts";
import { type Client, createChannel, createClient } from "../../rpc/client.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { createManagementServices, schematicHandlers } from "./management.ts";
import { createSchematicUploader } from "./schematics.ts";

const ID = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";

type Management = Client<typeof ManagementService>;

/** Runs a test with a factory that answers as told, and clients of both names. */
async function withFactory(
  answer: (request: Request) => Response | Promise<Response>,
  body: (client: Management, call: (path: string) => Promise<unknown>) => Promise<void>,
  name = "management.ManagementService",
): Promise<void> {
  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const factory = Deno.serve(options, answer);
  const baseUrl = `http://127.0.0.1:${factory.addr.port}/sub`;
  const uploader = createSchematicUploader({ baseUrl, timeoutMs: 300 });
  const server = createRpcServer({
    services: createManagementServices(schematicHandlers(uploader)),
    log: silentLogger,
  });
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener;
  const serving = server.serve(listener);
  const channel = createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: "test",
  });
  try {
    await body(
      createClient(ManagementService, channel, { name }),
      (path) => channel.rawCall(path, new Uint8Array()),
    );
  } finally {
    channel.close();
    server.close();
    listener.close();
    await serving;
    await factory.shutdown();
  }
}

const REQUEST = { rawSchematic: new TextEncoder().encode("customization: {}\n") };

for (const name of ["management.ManagementService", "batuta.management.v1.ManagementService"]) {
  Deno.test(`${name} forwards a schematic to the factory and returns its ID`, () =>
    withFactory(async (request) => {
      const { pathname } = new URL(request.url);
      const text = await request.text();
      strictEqual(
        `${request.method} ${pathname} ${text}`,
        "POST /sub/schematics customization: {}\n",
      );
      return Response.json({ id: ID }, { status: 201 });
    }, async (client) => {
      strictEqual((await client.createSchematicFromRaw(REQUEST)).schematicId, ID);
    }, name));
}

Deno.test("createSchematicFromRaw passes the factory's refusal on", () =>
  withFactory(
    () => new Response("unknown extension: foo\n", { status: 400 }),
    async (client) => {
      await rejects(client.createSchematicFromRaw(REQUEST), {
        code: "invalidArgument",
        message: /status 400: unknown extension: foo$/,
      });
    },
  ));

/** Answers once nobody waits any more. */
function answerNobody({ signal }: Request): Promise<Response> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(new Response()), { once: true });
  });
}

type Answer = (request: Request) => Response | Promise<Response>;

const FAILURES: readonly (readonly [string, Answer, RegExp])[] = [
  ["an error of the factory", () => new Response("down", { status: 503 }), /status 503: down/],
  ["a reply without an ID", () => Response.json({ id: "../x" }), /no schematic ID/],
  ["a reply that is no JSON", () => new Response("<html>"), /no schematic ID/],
  ["a reply without end", () => new Response(new Uint8Array(1 << 20)), /too long/],
  ["a redirect", () => Response.redirect("http://127.0.0.1:1/"), /status 302/],
  ["a factory that does not answer", answerNobody, /within 300 ms/],
];

for (const [what, answer, message] of FAILURES) {
  Deno.test(`createSchematicFromRaw answers unavailable on ${what}`, () =>
    withFactory(answer, async (client) => {
      await rejects(client.createSchematicFromRaw(REQUEST), { code: "unavailable", message });
    }));
}

Deno.test("the management service bounds a schematic and names what is not implemented", () =>
  withFactory(() => Response.json({ id: ID }), async (client, call) => {
    await rejects(client.createSchematicFromRaw({ rawSchematic: new Uint8Array((1 << 20) + 1) }), {
      code: "invalidArgument",
      message: /the limit is 1048576/,
    });
    await rejects(client.kubeconfig({}), { code: "unimplemented", message: /"Kubeconfig"/ });
    await rejects(client.getBootAssetURL({}), { code: "unimplemented" });
    await rejects(call("/management.ManagementService/GetInstallationMediaURL"), {
      code: "unimplemented",
      message: /unknown method GetInstallationMediaURL for service management\.ManagementService$/,
    });
    await rejects(call("/management.ManagementService/Nonsense"), { code: "unimplemented" });
  }));
