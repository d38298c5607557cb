// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * HTTP/1.1 on a byte stream, as much of it as clients of the Kubernetes API need.
 *
 * @module
 */

import type { ByteStream } from "../rpc/stream.ts";
import { writeAll } from "../rpc/write_all.ts";

/** A request with its whole body. */
export interface HttpRequest {
  readonly method: string;
  /** Path and query as requested. */
  readonly target: string;
  /** By lower-case name. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A reply: one text, or a stream of texts that is sent in chunks. */
export interface HttpReply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string | ReadableStream<string>;
}

/** Answers requests of one connection. */
export type HttpHandler = (request: HttpRequest) => HttpReply | Promise<HttpReply>;

/** Largest head and largest body that is read, in bytes. */
const MAX_HEAD = 16 * 1024;
const MAX_BODY = 1 << 20;

const REASONS: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  413: "Content Too Large",
  422: "Unprocessable Entity",
  500: "Internal Server Error",
};

/** Serves one connection until either side ends it. Never rejects. */
export async function serveHttp(stream: ByteStream, handler: HttpHandler): Promise<void> {
  const reader = new Reader(stream);
  try {
    for (;;) {
      const request = await readRequest(reader);
      if (request === undefined) return;
      if (typeof request === "number") {
        await writeReply(stream, {
          status: request,
          contentType: "text/plain",
          body: REASONS[request] ?? "",
        }, false);
        return;
      }
      const isLast = request.headers.get("connection")?.toLowerCase() === "close";
      await writeReply(stream, await handler(request), !isLast, request.method === "HEAD");
      if (isLast) return;
    }
  } catch {
    // The client went away in the middle; there is nobody to tell.
  } finally {
    stream.close();
  }
}

/** Collects what was read but not used. */
class Reader {
  readonly #stream: ByteStream;
  readonly #chunk = new Uint8Array(8192);
  #buffer = "";

  constructor(stream: ByteStream) {
    this.#stream = stream;
  }

  /** Everything before `mark`, which is taken too; `undefined` at the end or beyond `limit`. */
  async until(mark: string, limit: number): Promise<string | undefined> {
    for (;;) {
      const at = this.#buffer.indexOf(mark);
      if (at >= 0) {
        const text = this.#buffer.slice(0, at);
        this.#buffer = this.#buffer.slice(at + mark.length);
        return text;
      }
      if (this.#buffer.length > limit || !await this.#fill()) return undefined;
    }
  }

  /** Exactly `length` bytes, one character each. */
  async take(length: number): Promise<string | undefined> {
    while (this.#buffer.length < length) if (!await this.#fill()) return undefined;
    const text = this.#buffer.slice(0, length);
    this.#buffer = this.#buffer.slice(length);
    return text;
  }

  async #fill(): Promise<boolean> {
    const count = await this.#stream.read(this.#chunk);
    if (count === null) return false;
    let text = "";
    for (const byte of this.#chunk.subarray(0, count)) text += String.fromCharCode(byte);
    this.#buffer += text;
    return true;
  }
}

/** A request, the status that refuses a malformed one, or `undefined` at the end. */
async function readRequest(reader: Reader): Promise<HttpRequest | number | undefined> {
  const head = await reader.until("\r\n\r\n", MAX_HEAD);
  if (head === undefined) return undefined;
  const [first = "", ...lines] = head.split("\r\n");
  const match = /^([A-Z]+) (\/[!-~]*) HTTP\/1\.1$/.exec(first);
  if (match === null) return 400;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon <= 0) return 400;
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const body = await readBody(reader, headers);
  if (typeof body !== "string") return body;
  return { method: match[1] ?? "", target: match[2] ?? "/", headers, body };
}

async function readBody(
  reader: Reader,
  headers: ReadonlyMap<string, string>,
): Promise<string | number> {
  if (headers.get("transfer-encoding")?.toLowerCase() !== "chunked") {
    const length = Number(headers.get("content-length") ?? "0");
    if (!Number.isSafeInteger(length) || length < 0) return 400;
    if (length > MAX_BODY) return 413;
    return asUtf8(await reader.take(length)) ?? 400;
  }
  let bytes = "";
  for (;;) {
    const size = parseInt(await reader.until("\r\n", 64) ?? "", 16);
    if (!Number.isSafeInteger(size) || size < 0) return 400;
    if (bytes.length + size > MAX_BODY) return 413;
    const chunk = await reader.take(size + 2);
    if (chunk === undefined) return 400;
    if (size === 0) return asUtf8(bytes) ?? 400;
    bytes += chunk.slice(0, size);
  }
}

function asUtf8(bytes: string | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  return new TextDecoder().decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
}

async function writeReply(
  stream: ByteStream,
  { status, contentType, body }: HttpReply,
  keepAlive: boolean,
  isHead = false,
): Promise<void> {
  const encoder = new TextEncoder();
  const head = (length: string): string =>
    `HTTP/1.1 ${status} ${
      REASONS[status] ?? "OK"
    }\r\ncontent-type: ${contentType}\r\n${length}\r\n${
      keepAlive ? "" : "connection: close\r\n"
    }\r\n`;
  if (typeof body === "string") {
    const bytes = encoder.encode(body);
    await writeAll(stream, encoder.encode(head(`content-length: ${bytes.length}`)));
    if (!isHead) await writeAll(stream, bytes);
    return;
  }
  await writeAll(stream, encoder.encode(head("transfer-encoding: chunked")));
  const texts = body.getReader();
  const gone = untilEnd(stream).then(() => texts.cancel());
  try {
    for (;;) {
      const { done, value } = await texts.read();
      if (done) return;
      const length = encoder.encode(value).length.toString(16);
      await writeAll(stream, encoder.encode(`${length}\r\n${value}\r\n`));
    }
  } finally {
    // The last chunk is never sent: such a body ends with its connection.
    stream.close();
    await texts.cancel();
    await gone;
  }
}

/** Resolves when the peer is gone; what it sends meanwhile is dropped. */
async function untilEnd(stream: ByteStream): Promise<void> {
  const chunk = new Uint8Array(1024);
  try {
    while (await stream.read(chunk) !== null);
  } catch {
    // Gone with an error is gone, too.
  }
}
