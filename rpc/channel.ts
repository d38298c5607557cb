// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A channel: calls to one target over one session that is dialled when it is needed.
 *
 * @module
 */

import { systemClock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/log.ts";
import { backoffMs } from "../base/retry.ts";
import type { BufferBudget } from "./buffer_account.ts";
import type { BeginSpan } from "./call_tracing.ts";
import { type CallOptions, ClientCall } from "./client_call.ts";
import { ClientStream, type RawStream } from "./client_stream.ts";
import { FrameReader } from "./frame_reader.ts";
import { Http2Code } from "./frames.ts";
import type { HeaderTemplate } from "./hpack_encoder.ts";
import { type Limits, withLimits } from "./limits.ts";
import { requestTemplate } from "./request_template.ts";
import { Session } from "./session.ts";
import type { ByteStream } from "./stream.ts";

/** Options of {@linkcode createChannel}. */
export interface ChannelOptions {
  /** Makes a connection to the target. */
  readonly dial: (signal: AbortSignal) => Promise<ByteStream>;
  /** What the target is called, for example `10.0.0.1:50000`. */
  readonly authority: string;
  /** `https` when the stream is encrypted; only told to the peer. */
  readonly scheme?: "http" | "https";
  /**
   * Probes a connection with calls on it that is silent for this long; without it never. A peer that
   * finds this too often gets probed half as often from then on.
   */
  readonly keepaliveMs?: number;
  readonly limits?: Partial<Limits>;
  readonly userAgent?: string;
  readonly log?: Logger;
  /** Time that dialling and the first exchange may take, in milliseconds. */
  readonly dialTimeoutMs?: number;
  /** First and longest wait between failed dials, in milliseconds. */
  readonly backoff?: { readonly initialMs: number; readonly maximumMs: number };
  /** Begins a span around each call; without it calls have none. */
  readonly beginSpan?: BeginSpan | undefined;
}

/** How a channel stands to its target. */
export type ChannelState = "idle" | "connecting" | "ready" | "failing" | "closed";

/** Calls to one target. */
export interface Channel {
  readonly authority: string;
  readonly state: ChannelState;
  /**
   * Dials unless a session is there. Throws a `CodedError`.
   *
   * @param options `waitForReady` waits out the pause after a failed dial instead of failing at once.
   */
  connect(options?: { readonly waitForReady?: boolean }): Promise<void>;
  /** One request, one reply. Throws a `CodedError`. */
  rawCall(path: string, request: Uint8Array, options?: CallOptions): Promise<Uint8Array>;
  /** Any number of requests and replies. */
  rawStream(path: string, options?: CallOptions): RawStream;
  /** Ends all calls and the session. */
  close(): void;
}

const NO_OPTIONS: CallOptions = {};

const MAX_TEMPLATES = 256;

// A client holds what its own calls ask for; each connection has its own limits.
const UNBOUNDED: BufferBudget = {
  heldBytes: 0,
  maxHeldBytes: Infinity,
  unsentBytes: 0,
  maxUnsentBytes: Infinity,
};

/** A session whose peer has not said anything yet. */
interface Starting {
  settle: ((error: unknown) => void) | undefined;
}

/** Creates a channel; it dials with the first call. */
export function createChannel(options: ChannelOptions): Channel {
  return new LazyChannel(options);
}

class LazyChannel implements Channel {
  readonly authority: string;
  readonly #options: ChannelOptions;
  #limits: Limits;
  readonly #log: Logger;
  readonly #templates = new Map<string, HeaderTemplate>();
  /** Why the channel is closed, once it is. */
  #closedBy: CodedError | undefined;
  /** Ends the attempt to connect that is under way. */
  #attempt: AbortController | undefined;
  #session: Session | undefined;
  #connecting: Promise<Session> | undefined;
  #roomWaiters: (() => void)[] = [];
  #failures = 0;
  #retryAtMs = 0;
  #lastError: unknown;

  constructor(options: ChannelOptions) {
    this.authority = options.authority;
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    this.#limits = withLimits({ ...options.limits, keepaliveMs: options.keepaliveMs ?? 0 });
  }

  get state(): ChannelState {
    if (this.#closedBy !== undefined) return "closed";
    if (this.#session !== undefined) return "ready";
    if (this.#connecting !== undefined) return "connecting";
    return this.#failures > 0 ? "failing" : "idle";
  }

  async connect(options: { readonly waitForReady?: boolean } = {}): Promise<void> {
    await (this.#session ?? this.#acquire(options.waitForReady ?? false));
  }

  rawCall(
    path: string,
    request: Uint8Array,
    options: CallOptions = NO_OPTIONS,
  ): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      let reply: Uint8Array | undefined;
      let retried = false;
      const call = new ClientCall(path, options, {
        onMessage: (message) => {
          if (reply !== undefined) call.cancel("internal", `Call of ${path} got two replies`);
          reply = message;
        },
        onEnd: (error) => {
          if (error !== undefined) reject(error);
          else if (reply === undefined) {
            reject(new CodedError("internal", `Call of ${path} ended without a reply`));
          } else resolve(reply);
        },
        // A call that the peer did not look at may be made again.
        onUnprocessed: () => {
          if (retried || this.#closedBy !== undefined) return false;
          retried = true;
          this.#start(call, path, options, () => void call.send(request, true));
          return true;
        },
      }, this.#options.beginSpan);
      this.#start(call, path, options, () => void call.send(request, true));
    });
  }

  rawStream(path: string, options: CallOptions = NO_OPTIONS): RawStream {
    const stream = new ClientStream(
      path,
      options,
      this.#limits.streamWindowBytes,
      this.#options.beginSpan,
    );
    this.#start(stream.call, path, options, () => stream.opened());
    return stream;
  }

  close(): void {
    if (this.#closedBy !== undefined) return;
    this.#closedBy = new CodedError("cancelled", "The channel is closed");
    this.#attempt?.abort(this.#closedBy);
    this.#session?.close(this.#closedBy);
    this.#wakeAll();
  }

  /** Opens the call's stream, at once when that is possible. */
  #start(call: ClientCall, path: string, options: CallOptions, opened: () => void): void {
    if (call.done) return;
    const session = this.#session;
    if (session !== undefined && this.#open(call, session, path)) return opened();
    this.#openLater(call, path, options, opened).catch((error) => {
      if (error instanceof CodedError) call.fail(error);
      else call.fail(new CodedError("internal", `Call of ${path} failed`, { cause: error }));
    });
  }

  async #openLater(
    call: ClientCall,
    path: string,
    options: CallOptions,
    opened: () => void,
  ): Promise<void> {
    while (!call.done) {
      const session = this.#session ?? await this.#acquireFor(options);
      if (call.done) break;
      if (session === undefined) continue;
      if (this.#open(call, session, path)) return opened();
      // All streams that the peer allows are taken; its session may also be ending.
      if (!session.draining) await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
    }
    // The room that this call waited for is another one's.
    this.#wakeOne();
  }

  /** A session, or `undefined` when a call that waits for one should try again. */
  async #acquireFor({ waitForReady = false }: CallOptions): Promise<Session | undefined> {
    try {
      return await this.#acquire(waitForReady);
    } catch (error) {
      if (!waitForReady || this.#closedBy !== undefined) throw error;
      return undefined;
    }
  }

  #open(call: ClientCall, session: Session, path: string): boolean {
    if (session.draining && this.#session === session) this.#session = undefined;
    return call.open(session, this.#template(path));
  }

  #template(path: string): HeaderTemplate {
    const known = this.#templates.get(path);
    if (known !== undefined) return known;
    const template = requestTemplate(path, this.#options);
    if (this.#templates.size >= MAX_TEMPLATES) this.#templates.clear();
    this.#templates.set(path, template);
    return template;
  }

  #acquire(waitForReady: boolean): Promise<Session> {
    if (this.#closedBy !== undefined) return Promise.reject(this.#closedBy);
    const waitMs = this.#retryAtMs - performance.now();
    if (waitMs > 0 && !waitForReady) {
      const text = `Cannot reach ${this.authority}: attempt ${this.#failures} failed`;
      return Promise.reject(new CodedError("unavailable", text, { cause: this.#lastError }));
    }
    if (this.#connecting !== undefined) return this.#connecting;
    this.#connecting = this.#connectAfter(waitMs).finally(() => this.#connecting = undefined);
    return this.#connecting;
  }

  async #connectAfter(waitMs: number): Promise<Session> {
    const attempt = this.#attempt = new AbortController();
    if (waitMs > 0) await systemClock.sleep(waitMs, attempt.signal);
    const timer = setTimeout(
      () => attempt.abort(new CodedError("unavailable", "Dialling took too long")),
      this.#options.dialTimeoutMs ?? 20_000,
    );
    try {
      attempt.signal.throwIfAborted();
      const session = await this.#dial(attempt.signal);
      this.#failures = 0;
      return session;
    } catch (cause) {
      if (this.#closedBy !== undefined) throw this.#closedBy;
      const { initialMs, maximumMs } = this.#options.backoff ??
        { initialMs: 200, maximumMs: 10_000 };
      this.#failures++;
      this.#retryAtMs = performance.now() + backoffMs(this.#failures, { initialMs, maximumMs });
      this.#lastError = cause;
      throw new CodedError("unavailable", `Cannot reach ${this.authority}`, { cause });
    } finally {
      clearTimeout(timer);
      this.#attempt = undefined;
    }
  }

  /** Dials, starts a session and waits for the peer's settings, which show that it speaks HTTP/2. */
  async #dial(signal: AbortSignal): Promise<Session> {
    const stream = await this.#options.dial(signal);
    if (signal.aborted) {
      stream.close();
      throw signal.reason;
    }
    const starting: Starting = { settle: undefined };
    const session = this.#startSession(stream, starting);
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => session.close(signal.reason);
      signal.addEventListener("abort", onAbort);
      starting.settle = (error) => {
        starting.settle = undefined;
        signal.removeEventListener("abort", onAbort);
        if (error === undefined) resolve();
        else reject(error);
      };
      void session.run();
    });
    return session;
  }

  // Apart from the dialling, so that a session that lives for long holds nothing of that.
  #startSession(stream: ByteStream, starting: Starting): Session {
    const session: Session = new Session({
      stream,
      reader: new FrameReader(stream),
      isServer: false,
      limits: this.#limits,
      budget: UNBOUNDED,
      events: {
        onRoom: () => {
          if (starting.settle !== undefined && !session.draining) {
            this.#session = session;
            starting.settle(undefined);
          }
          this.#wakeOne();
        },
        onGoaway: (lastStreamId, code, text) => {
          this.#log.debug("rpc session is going away", { reason: text, count: code });
          if (code === Http2Code.EnhanceYourCalm) this.#probeLess();
          this.#leave(session);
          refuseAbove(session, lastStreamId);
          session.drain();
        },
        onFault: (error) => this.#log.error("rpc session failed", { error }),
        onClosed: (error) => {
          this.#leave(session);
          starting.settle?.(
            error ?? new CodedError("unavailable", "The peer closed the connection"),
          );
        },
      },
    });
    return session;
  }

  #probeLess(): void {
    this.#limits = { ...this.#limits, keepaliveMs: this.#limits.keepaliveMs * 2 };
  }

  #leave(session: Session): void {
    if (this.#session === session) this.#session = undefined;
    this.#wakeAll();
  }

  #wakeOne(): void {
    this.#roomWaiters.shift()?.();
  }

  #wakeAll(): void {
    for (const wake of this.#roomWaiters.splice(0)) wake();
  }
}

/** Ends the streams that the peer says it has not looked at. */
function refuseAbove(session: Session, lastStreamId: number): void {
  for (const stream of [...session.streams.values()]) {
    if (stream.id <= lastStreamId) continue;
    session.forget(stream, true);
    stream.release();
    stream.events.onReset(Http2Code.RefusedStream);
  }
}
