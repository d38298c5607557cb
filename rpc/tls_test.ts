// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { join } from "node:path";
import { type Logger, silentLogger } from "../base/log.ts";
import { createChannel } from "./client.ts";
import { createRpcServer } from "./server.ts";
import { rawService } from "./service.ts";
import type { ByteStream } from "./stream.ts";
import { dialTcp, listenTcp } from "./tcp.ts";
import { createAuthority, issue } from "./test_certificates.ts";
import { normalizeKey, type TlsClientOptions, wrapTlsClient, wrapTlsServer } from "./tls.ts";
import { listenTls } from "./tls_listener.ts";

Deno.test("normalizeKey() renames the header of Ed25519 keys only", () => {
  const pem = "-----BEGIN ED25519 PRIVATE KEY-----\nAA==\n-----END ED25519 PRIVATE KEY-----\n";
  assert.equal(
    normalizeKey(pem),
    "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
  );
  assert.equal(normalizeKey("-----BEGIN EC PRIVATE KEY-----"), "-----BEGIN EC PRIVATE KEY-----");
});

Deno.test("wrapTlsClient() verifies the server and shows its own certificate", async () => {
  const authority = await createAuthority();
  const other = await createAuthority();
  const server = await issue(authority, "O=server");
  const client = await issue(authority, "O=os:admin");
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const seen: (string | undefined)[] = [];
  const serving = (async () => {
    for await (const incoming of listener) {
      const options = { ...server, ca: authority.cert, requestClientCert: "require" } as const;
      try {
        const stream = await wrapTlsServer(incoming.stream, options);
        seen.push(stream.peerCertificate?.subject);
        const buffer = new Uint8Array(16);
        const count = await stream.read(buffer);
        if (count !== null) await stream.write(buffer.subarray(0, count));
        stream.close();
      } catch {
        seen.push("refused");
      }
    }
  })();
  const attempt = async (options: TlsClientOptions): Promise<string> => {
    const tcp = await dialTcp({ hostname: "127.0.0.1", port: listener.port });
    try {
      const stream = await wrapTlsClient(tcp, options);
      try {
        await stream.write(new TextEncoder().encode("hi"));
        const buffer = new Uint8Array(16);
        const count = await stream.read(buffer);
        return count === null ? "closed" : new TextDecoder().decode(buffer.subarray(0, count));
      } finally {
        stream.close();
      }
    } catch {
      return "refused";
    }
  };
  const ca = authority.cert;
  assert.equal(await attempt({ ...client, ca, verifyAddress: "127.0.0.1" }), "hi");
  assert.equal(await attempt({ ...client, ca, serverName: "localhost" }), "hi");
  assert.equal(await attempt({ ...client, insecure: true }), "hi");
  assert.equal(await attempt({ ...client, ca, verifyAddress: "127.0.0.2" }), "refused");
  assert.equal(await attempt({ ...client, ca: other.cert, serverName: "localhost" }), "refused");
  assert.notEqual(await attempt({ ca, verifyAddress: "127.0.0.1" }), "hi");
  assert.equal(await attempt({ ca }), "refused");
  // Another authority of the same name does not make anyone an administrator.
  const stranger = await issue(other, "O=os:admin");
  assert.notEqual(await attempt({ ...stranger, ca, verifyAddress: "127.0.0.1" }), "hi");
  listener.close();
  await serving;
  assert.deepEqual(seen.filter((subject) => subject === "O=os:admin").length, 3);
});

Deno.test("wrapTlsServer() closes the stream when its options cannot be used", async () => {
  const authority = await createAuthority();
  const server = await issue(authority, "O=server");
  const client = await issue(authority, "O=client");
  const ca = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  for (const options of [{ ...server, ca }, { ...server, key: "no key", ca: authority.cert }]) {
    const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
    const dialled = dialTcp({ hostname: "127.0.0.1", port: listener.port });
    const { value } = await listener[Symbol.asyncIterator]().next();
    const inner: ByteStream = value.stream;
    let closed = false;
    const stream: ByteStream = {
      read: (buffer) => inner.read(buffer),
      write: (data) => inner.write(data),
      closeWrite: () => inner.closeWrite(),
      close: () => {
        closed = true;
        inner.close();
      },
    };
    const connecting = wrapTlsClient(await dialled, { ...client, insecure: true })
      .then((secured) => secured.close(), () => {});
    await assert.rejects(wrapTlsServer(stream, { ...options, requestClientCert: "require" }));
    assert.ok(closed);
    await connecting;
    listener.close();
  }
});

Deno.test("listenTls() refuses authorities that are no certificates", async () => {
  const authority = await createAuthority();
  const server = await issue(authority, "O=server");
  const folder = await Deno.makeTempDir();
  const [certFile, keyFile, caFile] = ["crt", "key", "ca"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await Deno.writeTextFile(certFile, server.cert);
  await Deno.writeTextFile(keyFile, server.key);
  const listen = () => listenTls({ hostname: "127.0.0.1", port: 0, certFile, keyFile, caFile });
  const cut = authority.cert + authority.cert.slice(0, 200);
  const damaged = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  for (const text of ["", "no certificate", damaged, cut]) {
    await Deno.writeTextFile(caFile, text);
    assert.throws(listen, { code: "invalidArgument" }, text);
  }
  await Deno.writeTextFile(caFile, authority.cert + authority.cert);
  listen().close();
  await Deno.remove(folder, { recursive: true });
});

Deno.test("listenTls() serves calls and takes over a changed certificate", async () => {
  const authority = await createAuthority();
  const folder = await Deno.makeTempDir();
  const certFile = join(folder, "tls.crt");
  const keyFile = join(folder, "tls.key");
  const install = async (subject: string): Promise<void> => {
    const pair = await issue(authority, subject);
    await Deno.writeTextFile(certFile, pair.cert);
    await Deno.writeTextFile(keyFile, pair.key);
  };
  await install("O=first");
  let warned = false;
  const log: Logger = { ...silentLogger, warn: () => void (warned = true) };
  const listener = listenTls({ hostname: "127.0.0.1", port: 0, certFile, keyFile, log });
  const echo = rawService("test.Echo", { Echo: { unary: (request) => request } });
  const server = createRpcServer({ services: [echo], log: silentLogger });
  const serving = server.serve(listener);
  const call = async (): Promise<string | undefined> => {
    let subject: string | undefined;
    const channel = createChannel({
      dial: async (signal) => {
        const tcp = await dialTcp({ hostname: "127.0.0.1", port: listener.port, signal });
        const options = { ca: authority.cert, verifyAddress: "127.0.0.1" };
        const stream = await wrapTlsClient(tcp, options);
        subject = stream.peerCertificate?.subject;
        return stream;
      },
      authority: "localhost",
      scheme: "https",
    });
    try {
      const reply = await channel.rawCall("/test.Echo/Echo", new Uint8Array(300_000));
      assert.equal(reply.length, 300_000);
    } finally {
      channel.close();
    }
    return subject;
  };
  assert.equal(await call(), "O=first");
  await install("O=second");
  const deadline = Date.now() + 20_000;
  // Files are looked at now and then, so the change shows with one of the next connections.
  let subject = await call();
  while (subject !== "O=second" && Date.now() < deadline) subject = await call();
  assert.equal(subject, "O=second");
  await Deno.writeTextFile(certFile, "no certificate");
  const warnBy = Date.now() + 20_000;
  while (!warned && Date.now() < warnBy) assert.equal(await call(), "O=second");
  assert.ok(warned);
  await server.drain(5000);
  await serving;
  await Deno.remove(folder, { recursive: true });
});
