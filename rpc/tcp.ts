// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * TCP and Unix sockets as byte streams.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { ByteStream, IncomingStream, StreamListener } from "./stream.ts";
import { lineTurn } from "./turns.ts";

/** Where to listen or to dial. */
export interface TcpAddress {
  readonly hostname: string;
  readonly port: number;
}

// A process without free descriptors cannot accept; it pauses and tries again.
const ACCEPT_RETRY_MS = 50;

/** Listens on TCP; port 0 takes a free one. Throws a `CodedError` when that is impossible. */
export function listenTcp(address: TcpAddress): StreamListener {
  let listener: Deno.TcpListener;
  try {
    listener = Deno.listen({ hostname: address.hostname, port: address.port });
  } catch (cause) {
    const at = `${address.hostname}:${address.port}`;
    throw new CodedError("unavailable", `Cannot listen on ${at}`, { cause });
  }
  return listenerOf(listener, (listener.addr as Deno.NetAddr).port, (connection) => {
    // Replies are small and already batched; waiting for more would only delay them.
    connection.setNoDelay(true);
    const { hostname, port } = connection.remoteAddr as Deno.NetAddr;
    return { stream: new Socket(connection), remoteAddress: hostname, remotePort: port };
  });
}

/** Listens on a Unix socket. Throws a `CodedError` when that is impossible. */
export function listenUnix(path: string): StreamListener {
  let listener: Deno.UnixListener;
  try {
    listener = Deno.listen({ transport: "unix", path });
  } catch (cause) {
    throw new CodedError("unavailable", `Cannot listen on "${path}"`, { cause });
  }
  return listenerOf(listener, -1, (connection) => ({
    stream: new Socket(connection),
    remoteAddress: "unix",
    remotePort: 0,
  }));
}

/** Dials TCP. Throws a `CodedError` (`unavailable`, or `cancelled` by the signal). */
export async function dialTcp(
  options: TcpAddress & { readonly signal?: AbortSignal },
): Promise<ByteStream> {
  const { hostname, port, signal } = options;
  const dialled = await dialing(
    `${hostname}:${port}`,
    signal,
    Deno.connect({ hostname, port, ...(signal === undefined ? {} : { signal }) }),
  );
  dialled.setNoDelay(true);
  return new Socket(dialled);
}

/** Dials a Unix socket. Throws a `CodedError` (`unavailable`, or `cancelled` by the signal). */
export async function dialUnix(
  path: string,
  options: { readonly signal?: AbortSignal } = {},
): Promise<ByteStream> {
  const connecting = Deno.connect({ transport: "unix", path });
  return new Socket(await dialing(path, options.signal, connecting));
}

async function dialing<C extends Deno.Conn>(
  target: string,
  signal: AbortSignal | undefined,
  connecting: Promise<C>,
): Promise<C> {
  let connection: C;
  try {
    connection = await connecting;
  } catch (cause) {
    const code = signal?.aborted ? "cancelled" : "unavailable";
    throw new CodedError(code, `Cannot dial ${target}`, { cause });
  }
  if (!signal?.aborted) return connection;
  connection.close();
  throw new CodedError("cancelled", `Cannot dial ${target}: cancelled`);
}

function listenerOf<C extends Deno.Conn>(
  listener: { accept(): Promise<C>; close(): void },
  port: number,
  wrap: (connection: C) => IncomingStream,
): StreamListener {
  let closed = false;
  return {
    port,
    close: () => {
      if (closed) return;
      closed = true;
      listener.close();
    },
    async *[Symbol.asyncIterator]() {
      while (!closed) {
        let incoming: IncomingStream;
        try {
          // A crowd that dials at once is accepted without a pause otherwise, and keeps every session
          // waiting until all of it has been served.
          const turn = lineTurn();
          if (turn !== undefined) await turn;
          incoming = wrap(await listener.accept());
        } catch (error) {
          if (closed || error instanceof Deno.errors.BadResource) return;
          // One peer that is gone again, or no descriptors: neither ends the listener.
          await new Promise((resolve) => setTimeout(resolve, ACCEPT_RETRY_MS));
          continue;
        }
        yield incoming;
      }
    },
  };
}

/** A connection of the runtime whose `close` may be repeated. */
class Socket implements ByteStream {
  readonly #connection: Deno.Conn;
  #closed = false;

  constructor(connection: Deno.Conn) {
    this.#connection = connection;
  }

  read(buffer: Uint8Array): Promise<number | null> {
    return this.#connection.read(buffer);
  }

  write(data: Uint8Array): Promise<number> {
    return this.#connection.write(data);
  }

  closeWrite(): Promise<void> {
    return this.#connection.closeWrite();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#connection.close();
  }
}
