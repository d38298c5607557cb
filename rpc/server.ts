// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The gRPC server: any listener or any single stream, with a small HTTP side on the same port.
 *
 * @module
 */

import type { Logger } from "../base/log.ts";
import { FrameReader } from "./frame_reader.ts";
import { PREFACE } from "./frames.ts";
import type { H2Stream } from "./h2_stream.ts";
import { type HeaderBlock, Known } from "./hpack_decoder.ts";
import { answerHttp2, type HttpRoutes, serveHttp1 } from "./http1.ts";
import { type Limits, withLimits } from "./limits.ts";
import type { CallEnvironment, CallObserver, Interceptor } from "./call_observer.ts";
import { refuseCall, ServerCall } from "./server_call.ts";
import type { Service, ServiceMethod } from "./service.ts";
import type { BufferBudget } from "./buffer_account.ts";
import { Session } from "./session.ts";
import { Code } from "./status.ts";
import type { IncomingStream, StreamListener } from "./stream.ts";
import { coarseWheel } from "./timer_wheel.ts";
import { lineTurn } from "./turns.ts";

/** Options of {@linkcode createRpcServer}. */
export interface RpcServerOptions {
  readonly services: readonly Service[];
  /** Handlers of GET and HEAD by path, in HTTP/1.1 and HTTP/2. */
  readonly http?: HttpRoutes;
  readonly log: Logger;
  readonly limits?: Partial<Limits>;
  readonly observer?: CallObserver;
  /** Run in order before every handler. */
  readonly interceptors?: readonly Interceptor[];
}

/** A running server. */
export interface RpcServer {
  /** Serves what a listener accepts, until it is closed. */
  serve(listener: StreamListener): Promise<void>;
  /** Serves one stream until it ends. Never rejects. */
  handle(incoming: IncomingStream): Promise<void>;
  /** Takes no more calls, waits for those that run, at most `timeoutMs`, and closes everything. */
  drain(timeoutMs: number): Promise<void>;
  /** Closes everything at once. */
  close(): void;
}

interface Connection {
  readonly incoming: IncomingStream;
  session: Session | undefined;
}

/** Creates a server. Throws `TypeError` when two services have the same method. */
export function createRpcServer(options: RpcServerOptions): RpcServer {
  return new Server(options);
}

class Server implements RpcServer {
  readonly #options: RpcServerOptions;
  readonly #limits: Limits;
  readonly #methods = new Map<string, ServiceMethod>();
  readonly #serviceNames: ReadonlySet<string>;
  readonly #connections = new Set<Connection>();
  readonly #perPeer = new Map<string, number>();
  readonly #listeners = new Set<StreamListener>();
  readonly #budget: BufferBudget;
  readonly #waiters: (() => void)[] = [];
  #closing = false;

  constructor(options: RpcServerOptions) {
    this.#options = options;
    this.#limits = withLimits(options.limits);
    this.#budget = {
      heldBytes: 0,
      maxHeldBytes: this.#limits.maxTotalBufferBytes,
      unsentBytes: 0,
      maxUnsentBytes: this.#limits.maxTotalUnsentBytes,
    };
    this.#serviceNames = new Set(options.services.map(({ name }) => name));
    for (const method of options.services.flatMap(({ methods }) => methods)) {
      if (this.#methods.has(method.path)) {
        throw new TypeError(`Cannot create the server: "${method.path}" is registered twice`);
      }
      this.#methods.set(method.path, method);
    }
  }

  async serve(listener: StreamListener): Promise<void> {
    this.#listeners.add(listener);
    try {
      for await (const incoming of listener) void this.handle(incoming);
    } finally {
      this.#listeners.delete(listener);
    }
  }

  async handle(incoming: IncomingStream): Promise<void> {
    const { stream, remoteAddress } = incoming;
    const ofPeer = this.#perPeer.get(remoteAddress) ?? 0;
    if (
      this.#closing || this.#connections.size >= this.#limits.maxConnections ||
      ofPeer >= this.#limits.maxConnectionsPerPeer
    ) return stream.close();
    this.#perPeer.set(remoteAddress, ofPeer + 1);
    const connection: Connection = { incoming, session: undefined };
    this.#connections.add(connection);
    try {
      await this.#run(connection);
    } catch (error) {
      // Only a fault of ours comes here; it must not end the process for one peer's sake.
      this.#options.log.error("rpc connection failed", { address: remoteAddress, error });
    } finally {
      stream.close();
      this.#connections.delete(connection);
      const left = (this.#perPeer.get(remoteAddress) ?? 1) - 1;
      if (left === 0) this.#perPeer.delete(remoteAddress);
      else this.#perPeer.set(remoteAddress, left);
      if (this.#connections.size === 0) this.#waiters.splice(0).forEach((resolve) => resolve());
    }
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#closing = true;
    for (const listener of this.#listeners) listener.close();
    for (const { session, incoming } of this.#connections) {
      if (session === undefined) incoming.stream.close();
      else session.drain();
    }
    if (this.#connections.size > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        this.#waiters.push(() => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    this.close();
  }

  close(): void {
    this.#closing = true;
    for (const listener of this.#listeners) listener.close();
    for (const { session, incoming } of this.#connections) {
      session?.close();
      incoming.stream.close();
    }
  }

  async #run(connection: Connection): Promise<void> {
    const { stream, remoteAddress, remotePort } = connection.incoming;
    const reader = new FrameReader(stream);
    const protocol = await this.#sniff(connection, reader);
    const turn = lineTurn();
    if (turn !== undefined) await turn;
    if (protocol === undefined) return reader.release();
    if (protocol === "http1") {
      return await serveHttp1(stream, reader, this.#options.http ?? {}, this.#limits);
    }
    const environment: CallEnvironment = {
      log: this.#options.log,
      observer: this.#options.observer ?? {},
      interceptors: this.#options.interceptors ?? [],
      remoteAddress,
      remotePort,
    };
    const session = new Session({
      stream,
      reader,
      isServer: true,
      limits: this.#limits,
      budget: this.#budget,
      events: {
        onStream: (opened, block, endStream) =>
          this.#onStream(environment, opened, block, endStream),
        onFault: (error) =>
          this.#options.log.error("rpc connection failed", { address: remoteAddress, error }),
      },
    });
    connection.session = session;
    if (this.#closing) session.drain();
    await session.run();
  }

  /** Reads until it is clear whether the peer begins with the HTTP/2 preface. */
  async #sniff(
    { incoming }: Connection,
    reader: FrameReader,
  ): Promise<"http1" | "http2" | undefined> {
    const timer = coarseWheel.schedule(
      this.#limits.prefaceTimeoutMs,
      () => incoming.stream.close(),
    );
    try {
      for (;;) {
        const { unread } = reader;
        const count = Math.min(unread.length, PREFACE.length);
        for (let at = 0; at < count; at++) if (unread[at] !== PREFACE[at]) return "http1";
        if (count === PREFACE.length) {
          reader.skip(count);
          return "http2";
        }
        if ((await reader.read()) === null) return undefined;
      }
    } catch {
      // The peer is gone, or too slow.
      return undefined;
    } finally {
      timer.cancel();
    }
  }

  #onStream(
    environment: CallEnvironment,
    stream: H2Stream,
    block: HeaderBlock,
    endStream: boolean,
  ): void {
    const { known } = block;
    const isGrpc = known[Known.ContentType]?.startsWith("application/grpc") ?? false;
    if (!isGrpc || known[Known.Method] !== "POST") {
      answerHttp2(this.#options.http ?? {}, stream, block, endStream);
      return;
    }
    const path = known[Known.Path] ?? "";
    const method = this.#methods.get(path);
    if (method === undefined) {
      stream.events = {
        onHeaders: () => {},
        onData: () => {},
        onReset: () => {},
      };
      return refuseCall(stream, Code.Unimplemented, this.#unknownMethod(path));
    }
    new ServerCall(environment, stream, method, block).begin(endStream);
  }

  #unknownMethod(path: string): string {
    const [, service = "", method = ""] = path.split("/");
    return this.#serviceNames.has(service)
      ? `unknown method ${method} for service ${service}`
      : `unknown service ${service}`;
  }
}
