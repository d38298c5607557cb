// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The connection of `batuta ctl` to a running server.
 *
 * @module
 */

import type { Command } from "commander";
import { CodedError, codeOf } from "../base/errors.ts";
import { createRemoteState } from "../cosi/state/grpc_client.ts";
import type { State } from "../cosi/state/state.ts";
import { type Channel, createChannel } from "../rpc/client.ts";
import type { ByteStream } from "../rpc/stream.ts";
import { dialTcp } from "../rpc/tcp.ts";
import { usageError } from "./usage.ts";

/** Where the server of the same host listens unless told otherwise. */
const DEFAULT_ENDPOINT = "http://127.0.0.1:8080";

/** Which server to talk to. */
export interface ConnectOptions {
  readonly endpoint: string;
  /** File with the authorities that the server's certificate is checked against. */
  readonly ca?: string;
}

/** Adds the options that every command with a connection has. */
export function withConnection(command: Command): Command {
  return command
    .option("--endpoint <url>", "address of the server's API", DEFAULT_ENDPOINT)
    .option("--ca <file>", "authorities to trust for an https endpoint, in PEM");
}

/** Where an endpoint leads. */
export interface Endpoint {
  readonly hostname: string;
  readonly port: number;
  readonly secure: boolean;
}

/** Reads `http`, `grpc` (both plain) or `https` URLs with an optional port. */
export function parseEndpoint(text: string): Endpoint {
  const parts = /^(http|grpc|https):\/\/(?:\[([0-9a-fA-F:.]+)\]|([^:/?#@[\]]+))(?::(\d{1,5}))?\/?$/
    .exec(text);
  const secure = parts?.[1] === "https";
  const hostname = parts?.[2] ?? parts?.[3];
  const port = Number(parts?.[4] ?? (secure ? 443 : 80));
  if (hostname === undefined || port < 1 || port > 65535) {
    throw usageError(
      `--endpoint must be http://host:port, grpc://host:port or https://host:port: ` +
        `current value is "${text}"`,
    );
  }
  return { hostname, port, secure };
}

async function dial(endpoint: Endpoint, ca: string | undefined, signal: AbortSignal) {
  const { hostname, port, secure } = endpoint;
  const stream: ByteStream = await dialTcp({ hostname, port, signal });
  if (!secure) return stream;
  const { wrapTlsClient } = await import("../rpc/tls.ts");
  const { isIP } = await import("node:net");
  return await wrapTlsClient(stream, {
    ...(isIP(hostname) === 0 ? { serverName: hostname } : { verifyAddress: hostname }),
    ...(ca === undefined ? {} : { ca: await Deno.readTextFile(ca) }),
  });
}

/** Connects; the caller closes the channel. */
export function openChannel({ endpoint, ca }: ConnectOptions): Channel {
  const target = parseEndpoint(endpoint);
  const { hostname, port, secure } = target;
  return createChannel({
    dial: (signal) => dial(target, ca, signal),
    authority: hostname.includes(":") ? `[${hostname}]:${port}` : `${hostname}:${port}`,
    scheme: secure ? "https" : "http",
    dialTimeoutMs: 5000,
    keepaliveMs: 30_000,
  });
}

/**
 * Runs a piece of work with the state of the server and closes the connection.
 *
 * @throws CodedError `unavailable` that says what to check when nobody answers at the endpoint.
 */
export async function withState<T>(
  options: ConnectOptions,
  work: (state: State, channel: Channel) => Promise<T>,
): Promise<T> {
  const channel = openChannel(options);
  try {
    try {
      await channel.connect();
    } catch (cause) {
      if (codeOf(cause) !== "unavailable") throw cause;
      throw unreachable(options.endpoint, cause);
    }
    return await work(createRemoteState(channel), channel);
  } finally {
    channel.close();
  }
}

function unreachable(endpoint: string, cause: unknown): CodedError {
  return new CodedError(
    "unavailable",
    `Cannot reach the server at ${endpoint}; check that "batuta serve" or "batuta lab" runs ` +
      `there and listens on this address (api.bindAddress), or name another with --endpoint`,
    { cause },
  );
}
