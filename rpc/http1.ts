// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The small HTTP side of a gRPC port: GET and HEAD of registered paths, in HTTP/1.1 and HTTP/2.
 *
 * @module
 */

import type { FrameReader } from "./frame_reader.ts";
import { Http2Code } from "./frames.ts";
import type { H2Stream } from "./h2_stream.ts";
import { type HeaderBlock, Known } from "./hpack_decoder.ts";
import type { Limits } from "./limits.ts";
import type { ByteStream } from "./stream.ts";
import { coarseWheel } from "./timer_wheel.ts";
import { lineTurn } from "./turns.ts";
import { writeAll } from "./write_all.ts";

/** What a handler answers. */
export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | Uint8Array;
}

/** Answers GET and HEAD of one path. */
export type HttpHandler = () => HttpReply | Promise<HttpReply>;

/** Handlers by path, for example `/healthz`. */
export type HttpRoutes = Readonly<Record<string, HttpHandler>>;

interface EncodedReply extends HttpReply {
  readonly body: Uint8Array;
}

const encoder = new TextEncoder();
const CR = 0x0d;
const LF = 0x0a;
const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  404: "Not Found",
  405: "Method Not Allowed",
  413: "Content Too Large",
  415: "Unsupported Media Type",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** The reply to a method and a path. A handler that throws answers 500 without a reason. */
async function answerHttp(
  routes: HttpRoutes,
  method: string,
  target: string,
): Promise<EncodedReply> {
  const path = target.split("?", 1)[0] ?? "";
  const handler = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (handler === undefined) return plain(404);
  if (method !== "GET" && method !== "HEAD") return plain(405);
  try {
    return encoded(await handler());
  } catch {
    // A probe learns that it failed; why is not for strangers.
    return plain(500);
  }
}

function plain(status: number): EncodedReply {
  return encoded({ status, contentType: "text/plain", body: `${REASONS[status] ?? status}\n` });
}

function encoded({ status, contentType, body }: HttpReply): EncodedReply {
  return {
    status,
    contentType,
    body: body instanceof Uint8Array ? body : encoder.encode(body),
  };
}

/** Answers a request that is no gRPC on an HTTP/2 stream, once it has arrived. */
export function answerHttp2(
  routes: HttpRoutes,
  stream: H2Stream,
  block: HeaderBlock,
  endStream: boolean,
): void {
  const method = block.known[Known.Method] ?? "";
  const path = block.known[Known.Path] ?? "";
  const startMs = performance.now();
  const reply = (): void => {
    const { session } = stream;
    const isPost = method === "POST" && !Object.hasOwn(routes, path);
    const replying = isPost ? Promise.resolve(plain(415)) : answerHttp(routes, method, path);
    void replying.then((made) => session.protect(() => sendHttp2(stream, method, made)));
  };
  stream.events = {
    onHeaders: reply,
    onData: (_buffer, start, end, isEnd) => {
      stream.consume(end - start);
      if (isEnd) reply();
    },
    onReset: () => {},
    onCheck: (nowMs) => {
      const { requestStallMs } = stream.session.limits;
      if (!stream.remoteEnded && nowMs - startMs > requestStallMs) stream.reset(Http2Code.Cancel);
    },
  };
  if (endStream) reply();
}

function sendHttp2(stream: H2Stream, method: string, reply: EncodedReply): void {
  const { body } = reply;
  const fields = [
    ":status",
    String(reply.status),
    "content-type",
    reply.contentType,
    "content-length",
    String(body.length),
  ];
  if (method === "HEAD" || body.length === 0) return stream.sendTrailers(undefined, fields);
  stream.sendHeaders(undefined, fields);
  stream.send(-1, body, true);
}

/** Serves HTTP/1.1 on a connection until it ends. Never rejects. */
export async function serveHttp1(
  stream: ByteStream,
  reader: FrameReader,
  routes: HttpRoutes,
  limits: Limits,
): Promise<void> {
  let timer = coarseWheel.schedule(limits.prefaceTimeoutMs, () => stream.close());
  try {
    for (;;) {
      const head = await readHead(reader, limits.maxHeaderListBytes);
      if (head === undefined) return;
      timer.cancel();
      // What does not even look like HTTP/1 gets no answer in it.
      if (head !== "too large" && !/ HTTP\/1\.[01]$/.test(head.split("\r\n", 1)[0] ?? "")) return;
      timer = coarseWheel.schedule(limits.writeStallMs, () => stream.close());
      const keepAlive = await answerHead(stream, head, routes);
      if (!keepAlive) return await lingerClose(stream, reader);
      const turn = lineTurn();
      if (turn !== undefined) await turn;
    }
  } catch {
    // The peer went away or was too slow; there is nobody to tell.
  } finally {
    timer.cancel();
    stream.close();
    reader.release();
  }
}

// Bytes that are read and dropped so that the reply is not lost to a reset connection.
const LINGER_BYTES = 64 * 1024;

async function lingerClose(stream: ByteStream, reader: FrameReader): Promise<void> {
  await stream.closeWrite();
  for (let dropped = 0; dropped < LINGER_BYTES;) {
    dropped += reader.unreadBytes;
    reader.skip(reader.unreadBytes);
    if ((await reader.read()) === null) return;
  }
}

/** A request's head as text, `"too large"`, or `undefined` at the end of the connection. */
async function readHead(reader: FrameReader, maxBytes: number): Promise<string | undefined> {
  for (let seen = 0;;) {
    const { unread } = reader;
    // Only what came since the last look is searched; the end's first bytes may have come before.
    const end = endOfHead(unread, Math.max(0, seen - 3));
    if (end > maxBytes) return "too large";
    if (end >= 0) {
      const text = asLatin1(unread.subarray(0, end));
      reader.skip(end + 4);
      return text;
    }
    if (unread.length > maxBytes) return "too large";
    seen = unread.length;
    if ((await reader.read()) === null) return undefined;
  }
}

/** Where the empty line after a head begins, at `from` or later; -1 when it is not there. */
function endOfHead(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(CR, from);
  while (at >= 0) {
    if (bytes[at + 1] === LF && bytes[at + 2] === CR && bytes[at + 3] === LF) return at;
    at = bytes.indexOf(CR, at + 1);
  }
  return -1;
}

async function answerHead(stream: ByteStream, head: string, routes: HttpRoutes): Promise<boolean> {
  const lines = head.split("\r\n");
  const request = /^([A-Z]+) ([!-~]+) HTTP\/1\.([01])$/.exec(lines[0] ?? "");
  const headers = parseHeaders(lines.slice(1));
  let reply: EncodedReply;
  let keepAlive = false;
  if (head === "too large") reply = plain(431);
  else if (request === null || headers === undefined) reply = plain(400);
  else if (request[3] === "1" && !headers.has("host")) reply = plain(400);
  else if (headers.has("transfer-encoding") || (headers.get("content-length") ?? "0") !== "0") {
    reply = plain(413);
  } else {
    reply = await answerHttp(routes, request[1] ?? "", request[2] ?? "");
    keepAlive = request[3] === "1" && headers.get("connection")?.toLowerCase() !== "close";
  }
  const { body } = reply;
  const lead = `HTTP/1.1 ${reply.status} ${REASONS[reply.status] ?? "OK"}\r\n` +
    `content-type: ${reply.contentType}\r\ncontent-length: ${body.length}\r\n` +
    `${keepAlive ? "" : "connection: close\r\n"}\r\n`;
  await writeAll(stream, encoder.encode(lead));
  if (request?.[1] !== "HEAD") await writeAll(stream, body);
  return keepAlive;
}

function parseHeaders(lines: readonly string[]): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*$/.exec(line);
    if (match === null) return undefined;
    const name = (match[1] ?? "").toLowerCase();
    if (name === "content-length" && headers.has(name)) return undefined;
    headers.set(name, match[2] ?? "");
  }
  return headers;
}

function asLatin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
