// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One gRPC call on the server: from the request's headers to the reply's trailers.
 *
 * A unary call whose handler answers at once is read, run and answered without a single promise.
 *
 * @module
 */

import { Buffer } from "node:buffer";
import { CodedError } from "../base/errors.ts";
import type { CallEnvironment } from "./call_observer.ts";
import type { CallSpan } from "./call_tracing.ts";
import { ACCEPTED_ENCODINGS, compress } from "./compression.ts";
import { Http2Code } from "./frames.ts";
import type { H2Stream, StreamEvents } from "./h2_stream.ts";
import { type HeaderBlock, Known } from "./hpack_decoder.ts";
import type { HeaderTemplate } from "./hpack_encoder.ts";
import type { MessageFault } from "./message_reader.ts";
import { appendField, Metadata, type MetadataValue } from "./metadata.ts";
import { type IntakeEvents, RequestIntake } from "./request_intake.ts";
import type { CallContext, MessageSink, ServiceMethod } from "./service.ts";
import { Code, encodeStatusMessage, statusOfError } from "./status.ts";
import { fineWheel, type WheelTimer } from "./timer_wheel.ts";
import { parseTimeout } from "./timeouts.ts";

const REPLY_HEADERS: HeaderTemplate = {
  fields: [":status", "200", "content-type", "application/grpc"],
};
const OK_TRAILERS: HeaderTemplate = { fields: ["grpc-status", "0"] };

/** Answers a stream without a call, by trailers only. */
export function refuseCall(
  stream: H2Stream,
  code: Code,
  message: string,
  fields: readonly string[] = [],
): void {
  stream.sendTrailers(REPLY_HEADERS, [
    "grpc-status",
    String(code),
    "grpc-message",
    encodeStatusMessage(message),
    ...fields,
  ]);
}

/** A running call. It is its handler's context, its stream's user and its own sink. */
export class ServerCall implements CallContext, StreamEvents, MessageSink, IntakeEvents {
  readonly #environment: CallEnvironment;
  readonly #stream: H2Stream;
  readonly #method: ServiceMethod;
  readonly #startMs: number;
  readonly #fields: readonly string[];
  readonly deadlineMs: number | undefined;
  #metadata: Metadata | undefined;
  #controller: AbortController | undefined;
  /** Why it was aborted. The error is made for who asks for it: a flood of resets costs less so. */
  #abortReason: string | undefined;
  #onCancel: (() => void) | undefined;
  readonly #intake: RequestIntake;
  readonly #span: CallSpan | undefined;
  #timer: WheelTimer | undefined;
  #headers: string[] | undefined;
  #trailers: string[] | undefined;
  #headersSent = false;
  readonly #acceptsGzip: boolean;
  #gzipAnnounced = false;
  #compressing = false;
  #done = false;
  #started = false;
  #replies: AsyncIterator<Uint8Array> | undefined;
  #lastDataMs: number;

  constructor(
    environment: CallEnvironment,
    stream: H2Stream,
    method: ServiceMethod,
    block: HeaderBlock,
  ) {
    this.#environment = environment;
    this.#stream = stream;
    // The clock of the read that brought the request, because asking for the time is not free.
    this.#startMs = this.#lastDataMs = stream.session.lastReadMs;
    this.#method = method;
    this.#fields = block.fields;
    const encoding = block.known[Known.Encoding];
    this.#intake = new RequestIntake(stream, encoding, method.type, this);
    this.#acceptsGzip = block.known[Known.AcceptEncoding]?.includes("gzip") ?? false;
    environment.observer.callStarted?.(method);
    this.#span = environment.observer.beginSpan?.(method.service, method.name);
    stream.events = this;
    const deadlineMs = parseTimeout(block.known[Known.Timeout]);
    this.deadlineMs = Number.isNaN(deadlineMs) ? undefined : deadlineMs;
    if (Number.isNaN(deadlineMs)) this.#finish(Code.Internal, "A grpc-timeout that is not valid");
    else if (deadlineMs !== undefined) {
      this.#timer = fineWheel.schedule(deadlineMs, () => this.#expire());
    }
    if (encoding !== undefined && !["identity", "gzip"].includes(encoding)) {
      (this.#trailers ??= []).push("grpc-accept-encoding", ACCEPTED_ENCODINGS);
      this.#finish(Code.Unimplemented, `Encoding "${encoding}" is not supported`);
    }
  }

  get path(): string {
    return this.#method.path;
  }

  get wasCompressed(): boolean {
    return this.#intake.wasCompressed;
  }

  get metadata(): Metadata {
    return this.#metadata ??= new Metadata(this.#fields);
  }

  get remoteAddress(): string {
    return this.#environment.remoteAddress;
  }

  get remotePort(): number {
    return this.#environment.remotePort;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(cancelled(this.#abortReason));
    }
    return this.#controller.signal;
  }

  get cancelled(): boolean {
    return this.#abortReason !== undefined;
  }

  onCancel(callback: () => void): void {
    if (this.#abortReason !== undefined) return callback();
    const earlier = this.#onCancel;
    this.#onCancel = earlier === undefined ? callback : () => {
      earlier();
      callback();
    };
  }

  setHeader(key: string, value: MetadataValue): void {
    if (this.#headersSent) throw new TypeError(`Cannot set header "${key}": headers are sent`);
    appendField(this.#headers ??= [], key, value);
  }

  setTrailer(key: string, value: MetadataValue): void {
    appendField(this.#trailers ??= [], key, value);
  }

  sendHeaders(): void {
    if (this.#headersSent || this.#done) return;
    this.#headersSent = true;
    this.#stream.sendHeaders(REPLY_HEADERS, this.#headers);
  }

  compressReplies(enabled: boolean): void {
    if (enabled && !this.#headersSent && !this.#gzipAnnounced && this.#acceptsGzip) {
      this.#gzipAnnounced = true;
      (this.#headers ??= []).push("grpc-encoding", "gzip");
    }
    this.#compressing = enabled && this.#gzipAnnounced;
  }

  send(message: Uint8Array): Promise<void> | undefined {
    if (this.#done) return undefined;
    this.sendHeaders();
    if (this.#compressing) this.#stream.send(1, compress(message));
    else this.#stream.send(0, message);
    this.#environment.observer.messageSent?.(this.#method);
    return this.#stream.ready();
  }

  sendParts(parts: readonly Uint8Array[], size: number): Promise<void> | undefined {
    if (this.#compressing) return this.send(Buffer.concat(parts, size));
    if (this.#done) return undefined;
    this.sendHeaders();
    this.#stream.sendParts(0, parts, size);
    this.#environment.observer.messageSent?.(this.#method);
    return this.#stream.ready();
  }

  /** Begins a call that takes several requests; one with a single request begins when that is there. */
  begin(endStream: boolean): void {
    if (this.#done) return;
    if (this.#intake.requests !== undefined) this.#start(undefined);
    if (endStream) this.#intake.end();
  }

  onHeaders(_block: HeaderBlock, endStream: boolean): void {
    if (endStream && !this.#done) this.#intake.end();
  }

  onData(buffer: Uint8Array, start: number, end: number, endStream: boolean): void {
    if (this.#done) return this.#stream.consume(end - start);
    this.#lastDataMs = this.#stream.session.lastReadMs;
    this.#intake.data(buffer, start, end);
    if (endStream && !this.#done) this.#intake.end();
  }

  onReset(code: number): void {
    if (this.#done) return;
    this.#end(code === Http2Code.NoError ? Code.Unknown : Code.Cancelled);
    this.#abort("The client cancelled the call");
  }

  onCheck(nowMs: number): void {
    if (this.#done || this.#started && !this.#intake.isPartial) return;
    if (nowMs - this.#lastDataMs > this.#stream.session.limits.requestStallMs) {
      this.#finish(Code.DeadlineExceeded, "The request did not arrive");
    }
  }

  onReceived(): void {
    this.#environment.observer.messageReceived?.(this.#method);
  }

  onRequest(request: Uint8Array): void {
    if (!this.#done) this.#start(request);
  }

  onFault({ code, message }: MessageFault): void {
    this.#finish(code, message);
  }

  onError(error: unknown): void {
    this.#fail(error);
  }

  #start(request: Uint8Array | undefined): void {
    this.#started = true;
    if (this.#environment.interceptors.length > 0) void this.#startIntercepted(request);
    else this.#run(request);
  }

  async #startIntercepted(request: Uint8Array | undefined): Promise<void> {
    try {
      for (const interceptor of this.#environment.interceptors) {
        const waited = interceptor(this, this.#method);
        if (waited !== undefined) await waited;
      }
    } catch (error) {
      return this.#fail(error);
    }
    if (!this.#done) this.#run(request);
  }

  #run(request: Uint8Array | undefined): void {
    if (this.#span === undefined) this.#handle(request);
    else this.#span.run(() => this.#handle(request));
  }

  #handle(request: Uint8Array | undefined): void {
    const { handler } = this.#method;
    if ("unary" in handler && request !== undefined) {
      let reply: Uint8Array | Promise<Uint8Array>;
      try {
        reply = handler.unary(request, this);
      } catch (error) {
        return this.#fail(error);
      }
      if (reply instanceof Uint8Array) this.#reply(reply);
      else this.#settleLater(reply, (message) => this.#reply(message));
      return;
    }
    let work: Promise<void>;
    try {
      work = this.#runStream(request);
    } catch (error) {
      return this.#fail(error);
    }
    this.#settleLater(work, () => this.#endWell());
  }

  // Not async: its frame would hold the request for as long as the call goes on.
  #runStream(request: Uint8Array | undefined): Promise<void> {
    const { handler } = this.#method;
    const { requests } = this.#intake;
    if ("serverSink" in handler && request !== undefined) {
      return handler.serverSink(request, this, this);
    }
    if ("serverStream" in handler && request !== undefined) {
      return this.#sendAll(handler.serverStream(request, this));
    }
    if ("clientStream" in handler && requests !== undefined) {
      return handler.clientStream(requests, this).then((reply) => void this.send(reply));
    }
    if ("bidi" in handler && requests !== undefined) {
      return this.#sendAll(handler.bidi(requests, this));
    }
    return Promise.resolve();
  }

  async #sendAll(messages: AsyncIterable<Uint8Array>): Promise<void> {
    const iterator = this.#replies = messages[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await iterator.next();
      if (done || this.#done) break;
      const sent = this.send(value);
      if (sent !== undefined) await sent;
    }
    this.#replies = undefined;
    // A call that ended before its replies did lets go of their source.
    if (this.#done) await iterator.return?.();
  }

  /** What runs after a promise has nobody above it to catch what it throws. */
  #settleLater<T>(work: Promise<T>, done: (result: T) => void): void {
    const { session } = this.#stream;
    work.then(
      (result) => session.protect(() => done(result)),
      (error) => session.protect(() => this.#fail(error)),
    );
  }

  #reply(message: Uint8Array): void {
    if (this.#done) return;
    if (!(message instanceof Uint8Array)) return this.#fail(new TypeError("A reply without bytes"));
    if (!this.#stream.session.account.mayWait(message.length)) {
      return this.#finish(Code.ResourceExhausted, "Too many replies wait to be taken");
    }
    this.send(message);
    this.#endWell();
  }

  #endWell(): void {
    if (this.#done) return;
    this.sendHeaders();
    this.#end(Code.Ok);
    this.#stream.sendTrailers(OK_TRAILERS, this.#trailers);
  }

  #fail(error: unknown): void {
    if (this.#done) return;
    const code = statusOfError(error);
    if (code !== undefined) return this.#finish(code, (error as Error).message);
    const { log, observer } = this.#environment;
    observer.panicked?.(this.#method, error);
    log.error("rpc handler failed", { id: this.#method.path, error });
    this.#finish(Code.Internal, "internal error");
  }

  #expire(): void {
    this.#stream.session.protect(() =>
      this.#finish(Code.DeadlineExceeded, "The deadline of the call has passed")
    );
  }

  #finish(code: Code, message: string): void {
    if (this.#done) return;
    const fields = this.#trailers ?? [];
    if (this.#headersSent) {
      this.#end(code);
      const status = ["grpc-status", String(code), "grpc-message", encodeStatusMessage(message)];
      this.#stream.sendTrailers(undefined, [...status, ...fields]);
    } else {
      const all = this.#headers === undefined ? fields : [...this.#headers, ...fields];
      this.#end(code);
      refuseCall(this.#stream, code, message, all);
    }
    // The handler may still run, for nobody.
    this.#abort(message);
  }

  #end(code: Code): void {
    this.#done = true;
    this.#timer?.cancel();
    this.#intake.release();
    const { observer } = this.#environment;
    observer.callEnded?.(this.#method, code, performance.now() - this.#startMs);
    this.#span?.end(code);
  }

  #abort(reason: string): void {
    this.#abortReason = reason;
    this.#controller?.abort(cancelled(reason));
    const onCancel = this.#onCancel;
    this.#onCancel = undefined;
    if (onCancel !== undefined) this.#stream.session.protect(onCancel);
    this.#intake.requests?.fail(cancelled(reason));
    // A source that waits for its next reply need not wait in vain; one that is a generator ends
    // when its own wait does, for which it has the signal.
    this.#replies?.return?.()?.catch(() => {});
  }
}

function cancelled(reason: string): CodedError {
  return new CodedError("cancelled", reason);
}
