// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { silentLogger } from "../base/log.ts";
import { createRpcServer } from "./server.ts";
import { listenTcp } from "./tcp.ts";

const http = {
  "/healthz": () => ({ status: 200, contentType: "text/plain", body: "ok\n" }),
  "/later": () => Promise.resolve({ status: 503, contentType: "text/plain", body: "no\n" }),
  "/broken": () => {
    throw new Error("the secret is 42");
  },
};

/** Sends bytes to a server and returns all that it answers. */
async function exchange(text: string): Promise<string> {
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const server = createRpcServer({ services: [], log: silentLogger, http });
  const serving = server.serve(listener);
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
  await connection.closeWrite();
  let answer = "";
  const buffer = new Uint8Array(4096);
  const decoder = new TextDecoder();
  for (let read = await connection.read(buffer); read !== null;) {
    answer += decoder.decode(buffer.subarray(0, read));
    read = await connection.read(buffer);
  }
  connection.close();
  server.close();
  await serving;
  return answer;
}

const HOST = "\r\nhost: x\r\n";
const CASES: readonly (readonly [name: string, request: string, status: RegExp, body: string])[] = [
  ["a GET", `GET /healthz HTTP/1.1${HOST}\r\n`, /^HTTP\/1.1 200 OK\r\n/, "ok\n"],
  ["a query", `GET /healthz?x=1 HTTP/1.1${HOST}\r\n`, /^HTTP\/1.1 200 /, "ok\n"],
  [
    "HTTP/1.0",
    "GET /healthz HTTP/1.0\r\n\r\n",
    /^HTTP\/1.1 200 .*\r\n.*connection: close/s,
    "ok\n",
  ],
  ["a HEAD", `HEAD /healthz HTTP/1.1${HOST}\r\n`, /content-length: 3\r\n\r\n$/, ""],
  ["a handler that fails", `GET /later HTTP/1.1${HOST}\r\n`, /^HTTP\/1.1 503 /, "no\n"],
  [
    "a handler that throws",
    `GET /broken HTTP/1.1${HOST}\r\n`,
    /^HTTP\/1.1 500 /,
    "Internal Server Error\n",
  ],
  ["an unknown path", `GET /none HTTP/1.1${HOST}\r\n`, /^HTTP\/1.1 404 /, "Not Found\n"],
  ["a prototype's name", `GET /__proto__ HTTP/1.1${HOST}\r\n`, /^HTTP\/1.1 404 /, "Not Found\n"],
  ["a DELETE", `DELETE /healthz HTTP/1.1${HOST}\r\n`, /^HTTP\/1.1 405 /, "Method Not Allowed\n"],
  ["no host", "GET /healthz HTTP/1.1\r\n\r\n", /^HTTP\/1.1 400 /, "Bad Request\n"],
  [
    "a bad header",
    `GET /healthz HTTP/1.1${HOST}bad header\r\n\r\n`,
    /^HTTP\/1.1 400 /,
    "Bad Request\n",
  ],
  [
    "a body",
    `GET /healthz HTTP/1.1${HOST}content-length: 5\r\n\r\nhello`,
    /^HTTP\/1.1 413 /,
    "Content Too Large\n",
  ],
  [
    "a chunked body",
    `GET /healthz HTTP/1.1${HOST}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    /^HTTP\/1.1 413 /,
    "Content Too Large\n",
  ],
  [
    "a long header",
    `GET /healthz HTTP/1.1${HOST}x: ${"v".repeat(17_000)}\r\n\r\n`,
    /^HTTP\/1.1 431 /,
    "Request Header Fields Too Large\n",
  ],
];

for (const [name, request, status, body] of CASES) {
  Deno.test(`createRpcServer() answers ${name} in HTTP/1.1`, async () => {
    const answer = await exchange(request);
    assert.match(answer, status);
    assert.equal(answer.slice(answer.indexOf("\r\n\r\n") + 4), body);
    assert.ok(!answer.includes("42"));
  });
}

Deno.test("createRpcServer() keeps an HTTP/1.1 connection for requests one after the other", async () => {
  const request = `GET /healthz HTTP/1.1${HOST}\r\n`;
  const answer = await exchange(
    request + request + `GET /none HTTP/1.1${HOST}connection: close\r\n\r\n`,
  );
  assert.equal(answer.match(/HTTP\/1.1 200 OK/g)?.length, 2);
  assert.equal(answer.match(/HTTP\/1.1 404 /g)?.length, 1);
});

Deno.test("createRpcServer() says nothing to bytes that are no HTTP", async () => {
  assert.equal(await exchange("\x16\x03\x01 hello\r\n\r\n"), "");
});
