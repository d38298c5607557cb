// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The transport against the peers of its field: h2spec, the gRPC interoperability suite of Go in
 * both roles, grpc-js, curl and h2load.
 *
 * @module
 */

import * as grpc from "@grpc/grpc-js";
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { silentLogger } from "../../base/log.ts";
import { type Channel, createChannel } from "../../rpc/client.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { dialTcp, listenTcp } from "../../rpc/tcp.ts";
import { createAuthority, issue } from "../../rpc/test_certificates.ts";
import { normalizeKey, wrapTlsClient } from "../../rpc/tls.ts";
import { listenTls } from "../../rpc/tls_listener.ts";
import { endChild } from "../child_process.ts";
import { freeTcpPort } from "../integration/server_process.ts";
import { COMPRESSION_CASES, INTEROP_CASES } from "./interop/cases.ts";
import { testService } from "./interop/test_service.ts";
import { hasProgram } from "./lab_server.ts";

// The sanitizers see what the peers' library keeps for a moment after it is closed.
const PEER = { sanitizeOps: false, sanitizeResources: false };

const MISSING_GO = hasProgram("go", "version") ? "" : " (skipped: go is not installed)";
const MISSING_CURL = hasProgram("curl", "--version") ? "" : " (skipped: curl is not installed)";

const MISSING_H2LOAD = hasProgram("h2load", "--version") ? "" : " (skipped: h2load is missing)";

const GO_CLIENT = "google.golang.org/grpc/interop/client@latest";
const GO_SERVER = "google.golang.org/grpc/interop/server@latest";

interface Finished {
  readonly code: number;
  readonly output: string;
}

async function run(command: string, ...args: string[]): Promise<Finished> {
  const child = new Deno.Command(command, { args, stdout: "piped", stderr: "piped" });
  const { code, stdout, stderr } = await child.output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/** Installs a Go program into a folder of its own and returns its path. */
async function install(folder: string, name: string, source: string): Promise<string> {
  const { success, stderr } = await new Deno.Command("go", {
    args: ["install", source],
    env: { GOBIN: folder, GOFLAGS: "-buildvcs=false" },
    stderr: "piped",
  }).output();
  assert.ok(success, `Cannot install ${source}: ${new TextDecoder().decode(stderr)}`);
  return join(folder, name);
}

async function withServer(test: (port: number, channel: Channel) => Promise<void>): Promise<void> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const reply = () => ({ status: 200, contentType: "text/plain", body: "hello, world\n" });
  const server = createRpcServer({
    services: [testService()],
    log: silentLogger,
    http: { "/": reply, "/healthz": reply },
  });
  const serving = server.serve(listener);
  const channel = channelTo(listener.port);
  try {
    await test(listener.port, channel);
  } finally {
    channel.close();
    await server.drain(2000);
    await serving;
  }
}

function channelTo(port: number): Channel {
  return createChannel({
    dial: (signal) => dialTcp({ hostname: "127.0.0.1", port, signal }),
    authority: `127.0.0.1:${port}`,
  });
}

async function withFolder(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: `createRpcServer() passes all of h2spec${MISSING_GO}`,
  ignore: MISSING_GO !== "",
  fn: () =>
    withFolder(async (folder) => {
      const h2spec = await install(
        folder,
        "h2spec",
        "github.com/summerwind/h2spec/cmd/h2spec@latest",
      );
      await withServer(async (port) => {
        for (const mode of [[], ["--strict"]]) {
          const { code, output } = await run(h2spec, "-p", String(port), "-o", "5", ...mode);
          assert.equal(code, 0, output);
          assert.match(output, /(145|146) tests, \1 passed, 0 skipped, 0 failed/);
        }
      });
    }),
});

Deno.test({
  name: `createRpcServer() passes the Go interoperability client${MISSING_GO}`,
  ignore: MISSING_GO !== "",
  fn: async (t) => {
    await withFolder(async (folder) => {
      const client = await install(folder, "client", GO_CLIENT);
      await withServer(async (port) => {
        for (const name of Object.keys(INTEROP_CASES)) {
          await t.step(name, async () => {
            const { code, output } = await run(
              client,
              "-server_host=127.0.0.1",
              `-server_port=${port}`,
              `-test_case=${name}`,
            );
            assert.equal(code, 0, output);
          });
        }
      });
    });
  },
});

Deno.test({
  name: `createChannel() passes against the Go interoperability server${MISSING_GO}`,
  ignore: MISSING_GO !== "",
  fn: async (t) => {
    await withFolder(async (folder) => {
      const binary = await install(folder, "server", GO_SERVER);
      const port = freeTcpPort();
      const child = new Deno.Command(binary, {
        args: [`-port=${port}`],
        stdout: "null",
        stderr: "null",
      }).spawn();
      const channel = channelTo(port);
      try {
        await connected(channel);
        for (const [name, run] of Object.entries(INTEROP_CASES)) {
          await t.step(name, () => run(channel));
        }
      } finally {
        channel.close();
        await endChild(child);
      }
    });
  },
});

/** The cases that are run over TLS too: small, large and streaming. */
const TLS_CASES = ["empty_unary", "large_unary", "ping_pong", "cancel_after_first_response"];

/** Writes a server's certificate, its key and their authority into a folder. */
async function writeCertificates(folder: string): Promise<TlsFiles> {
  const authority = await createAuthority();
  const { cert, key } = await issue(authority, "CN=interop");
  const files = {
    ca: join(folder, "ca.crt"),
    certFile: join(folder, "tls.crt"),
    keyFile: join(folder, "tls.key"),
  };
  await Deno.writeTextFile(files.ca, authority.cert);
  await Deno.writeTextFile(files.certFile, cert);
  // The header that Go knows.
  await Deno.writeTextFile(files.keyFile, normalizeKey(key));
  return files;
}

interface TlsFiles {
  readonly ca: string;
  readonly certFile: string;
  readonly keyFile: string;
}

Deno.test({
  name: `listenTls() passes the Go interoperability client${MISSING_GO}`,
  ignore: MISSING_GO !== "",
  fn: () =>
    withFolder(async (folder) => {
      const client = await install(folder, "client", GO_CLIENT);
      const files = await writeCertificates(folder);
      const listener = listenTls({ hostname: "127.0.0.1", port: 0, ...files });
      const server = createRpcServer({ services: [testService()], log: silentLogger });
      const serving = server.serve(listener);
      try {
        for (const name of TLS_CASES) {
          const { code, output } = await run(
            client,
            "-server_host=127.0.0.1",
            `-server_port=${listener.port}`,
            "-server_host_override=localhost",
            "-use_tls",
            "-use_test_ca",
            `-ca_file=${files.ca}`,
            `-test_case=${name}`,
          );
          assert.equal(code, 0, `${name}: ${output}`);
        }
      } finally {
        await server.drain(2000);
        await serving;
      }
    }),
});

Deno.test({
  name: `wrapTlsClient() passes against the Go interoperability server${MISSING_GO}`,
  ignore: MISSING_GO !== "",
  fn: () =>
    withFolder(async (folder) => {
      const binary = await install(folder, "server", GO_SERVER);
      const { ca, certFile, keyFile } = await writeCertificates(folder);
      const port = freeTcpPort();
      const child = new Deno.Command(binary, {
        args: [
          `-port=${port}`,
          "-use_tls",
          `-tls_cert_file=${certFile}`,
          `-tls_key_file=${keyFile}`,
        ],
        stdout: "null",
        stderr: "null",
      }).spawn();
      const authority = await Deno.readTextFile(ca);
      const channel = createChannel({
        dial: async (signal) =>
          await wrapTlsClient(await dialTcp({ hostname: "127.0.0.1", port, signal }), {
            ca: authority,
            verifyAddress: "127.0.0.1",
          }),
        authority: "localhost",
        scheme: "https",
      });
      try {
        await connected(channel);
        for (const name of TLS_CASES) {
          const run = INTEROP_CASES[name];
          assert.ok(run, name);
          await run(channel);
        }
      } finally {
        channel.close();
        await endChild(child);
      }
    }),
});

Deno.test("createRpcServer() and createChannel() pass all cases with each other", async (t) => {
  await withServer(async (_, channel) => {
    for (const [name, run] of Object.entries({ ...INTEROP_CASES, ...COMPRESSION_CASES })) {
      await t.step(name, () => run(channel));
    }
  });
});

Deno.test({
  name: "createRpcServer() serves a grpc-js client, compressed and plain",
  ...PEER,
  fn: () =>
    withServer(async (port) => {
      for (const algorithm of [0, 2]) {
        const client = new grpc.Client(
          `127.0.0.1:${port}`,
          grpc.credentials.createInsecure(),
          { "grpc.default_compression_algorithm": algorithm },
        );
        const reply = await unaryByGrpcJs(client, new Uint8Array(0));
        assert.equal(reply.length, 0);
        client.close();
      }
    }),
});

Deno.test({
  name: "createChannel() calls a grpc-js server",
  ...PEER,
  fn: async () => {
    const server = new grpc.Server();
    server.register(
      "/test.Echo/Echo",
      (
        call: grpc.ServerUnaryCall<Uint8Array, Uint8Array>,
        callback: grpc.sendUnaryData<Uint8Array>,
      ) => {
        if (call.request.length === 1) {
          callback({ code: grpc.status.NOT_FOUND, details: "ä%\n" });
        } else callback(null, call.request);
      },
      Buffer.from,
      (bytes) => bytes,
      "unary",
    );
    const port = await new Promise<number>((resolve, reject) => {
      const credentials = grpc.ServerCredentials.createInsecure();
      server.bindAsync(
        "127.0.0.1:0",
        credentials,
        (error, bound) => error === null ? resolve(bound) : reject(error),
      );
    });
    const channel = channelTo(port);
    for (const compress of [false, true]) {
      const reply = await channel.rawCall("/test.Echo/Echo", new Uint8Array(200_000), { compress });
      assert.equal(reply.length, 200_000);
    }
    await assert.rejects(channel.rawCall("/test.Echo/Echo", new Uint8Array(1)), {
      code: "notFound",
      message: "ä%\n",
    });
    channel.close();
    server.forceShutdown();
  },
});

Deno.test({
  name: `createRpcServer() answers curl in HTTP/1.1 and HTTP/2${MISSING_CURL}`,
  ignore: MISSING_CURL !== "",
  fn: () =>
    withServer(async (port) => {
      for (const mode of ["--http1.1", "--http2-prior-knowledge"]) {
        const url = `http://127.0.0.1:${port}/healthz`;
        // One request each: curl 7.88 fails on a second one over HTTP/2 with any server.
        const { code, output } = await run("curl", "-sS", mode, url);
        assert.equal(code, 0, output);
        assert.equal(output, "hello, world\n");
      }
    }),
});

Deno.test({
  name: `createRpcServer() answers all of 20,000 requests of h2load${MISSING_H2LOAD}`,
  ignore: MISSING_H2LOAD !== "",
  fn: () =>
    withFolder(async (folder) => {
      const empty = join(folder, "empty");
      // A gRPC message without content: its prefix alone.
      await Deno.writeFile(empty, new Uint8Array(5));
      const call = ["-d", empty, "-H", "content-type: application/grpc", "-H", "te: trailers"];
      await withServer(async (port) => {
        for (
          const [path, options] of [
            ["/healthz", []],
            ["/grpc.testing.TestService/EmptyCall", call],
          ] as const
        ) {
          const url = `http://127.0.0.1:${port}${path}`;
          // 20 connections with 50 streams at once, in two threads.
          const load = ["-n", "10000", "-c", "20", "-m", "50", "-t", "2", ...options, url];
          const { code, output } = await run("h2load", ...load);
          assert.equal(code, 0, output);
          assert.match(output, /10000 done, 10000 succeeded, 0 failed, 0 errored, 0 timeout/);
          assert.match(output, /10000 2xx, 0 3xx, 0 4xx, 0 5xx/);
        }
      });
    }),
});

function unaryByGrpcJs(client: grpc.Client, request: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      "/grpc.testing.TestService/EmptyCall",
      Buffer.from,
      (bytes: Uint8Array) => bytes,
      request,
      (error, reply) => {
        if (error !== null || reply === undefined) reject(error);
        else resolve(reply);
      },
    );
  });
}

/** Waits until a server that is starting takes connections. */
async function connected(channel: Channel): Promise<void> {
  const deadline = Date.now() + 20_000;
  for (;;) {
    try {
      return await channel.connect({ waitForReady: true });
    } catch (error) {
      // The channel itself pauses between dials.
      if (Date.now() > deadline) throw error;
    }
  }
}
