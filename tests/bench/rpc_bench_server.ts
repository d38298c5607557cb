// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The server that `rpc_bench.ts` and `rpc_client_bench.ts` measure. It prints its port.
 *
 * Arguments: `own [UNIX_SOCKET]` is the project's transport, `tls` the same with a self-signed
 * certificate, `grpc-js` the library.
 *
 * @module
 */

import * as grpc from "@grpc/grpc-js";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { createLogger } from "../../base/log.ts";
import { createRpcServer } from "../../rpc/server.ts";
import { rawService } from "../../rpc/service.ts";
import type { StreamListener } from "../../rpc/stream.ts";
import { listenTcp, listenUnix } from "../../rpc/tcp.ts";
import { createAuthority, issue } from "../../rpc/test_certificates.ts";
import { listenTls } from "../../rpc/tls_listener.ts";

const MAX_MESSAGE = 64 * 1024 * 1024;
const REPLY = new Uint8Array(560);
const SMALL = new Uint8Array(32);

/** The first four bytes of a request as a number. */
function numberOf(request: Uint8Array): number {
  if (request.length < 4) return 0;
  return new DataView(request.buffer, request.byteOffset).getUint32(0);
}

async function serveOwn(listener: StreamListener): Promise<void> {
  const service = rawService("bench.Rpc", {
    Get: { unary: () => REPLY },
    Download: { unary: (request) => new Uint8Array(numberOf(request)) },
    Count: {
      serverSink: async (request, _context, sink) => {
        for (let left = numberOf(request); left > 0; left--) {
          const sent = sink.send(SMALL);
          if (sent !== undefined) await sent;
        }
      },
    },
    Hang: {
      serverSink: (_request, context, sink) =>
        new Promise((resolve) => {
          context.onCancel(resolve);
          void sink.send(SMALL);
        }),
    },
  });
  const server = createRpcServer({ services: [service], log: createLogger() });
  console.log(listener.port);
  await server.serve(listener);
}

/** A TLS listener with a certificate of its own. */
async function selfSigned(): Promise<StreamListener> {
  const { cert, key } = await issue(await createAuthority(), "CN=bench");
  const folder = await Deno.makeTempDir();
  const certFile = join(folder, "tls.crt");
  const keyFile = join(folder, "tls.key");
  await Deno.writeTextFile(certFile, cert);
  await Deno.writeTextFile(keyFile, key);
  const listener = listenTls({ hostname: "127.0.0.1", port: 0, certFile, keyFile });
  await Deno.remove(folder, { recursive: true });
  return listener;
}

const DEFINITION = {
  path: "",
  requestStream: false,
  requestSerialize: Buffer.from,
  requestDeserialize: (bytes: Buffer) => bytes,
  responseSerialize: Buffer.from,
  responseDeserialize: (bytes: Buffer) => bytes,
};

function serveGrpcJs(): void {
  const server = new grpc.Server({
    "grpc.max_receive_message_length": MAX_MESSAGE,
    "grpc.max_send_message_length": MAX_MESSAGE,
  });
  const method = (name: string, responseStream: boolean) => ({
    ...DEFINITION,
    path: `/bench.Rpc/${name}`,
    responseStream,
  });
  const reply = Buffer.from(REPLY);
  const small = Buffer.from(SMALL);
  type Unary = grpc.handleUnaryCall<Buffer, Buffer>;
  type Stream = grpc.handleServerStreamingCall<Buffer, Buffer>;
  const get: Unary = (_call, callback) => callback(null, reply);
  const download: Unary = (call, callback) => callback(null, Buffer.alloc(numberOf(call.request)));
  const count: Stream = (call) => {
    let left = numberOf(call.request);
    const pump = (): void => {
      while (left > 0) {
        left--;
        if (!call.write(small)) {
          call.once("drain", pump);
          return;
        }
      }
      call.end();
    };
    pump();
  };
  const hang: Stream = (call) => void call.write(small);
  server.addService({
    Get: method("Get", false),
    Download: method("Download", false),
    Count: method("Count", true),
    Hang: method("Hang", true),
  }, { Get: get, Download: download, Count: count, Hang: hang });
  server.bindAsync(
    "127.0.0.1:0",
    grpc.ServerCredentials.createInsecure(),
    (_error, port) => console.log(port),
  );
}

if (import.meta.main) {
  const [kind, path] = Deno.args;
  if (kind === "grpc-js") serveGrpcJs();
  else if (kind === "tls") await serveOwn(await selfSigned());
  else if (path !== undefined) await serveOwn(listenUnix(path));
  else await serveOwn(listenTcp({ hostname: "127.0.0.1", port: 0 }));
}
