// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * One gRPC call on the client, over a session that is ready.
 *
 * @module
 */

import { CodedError, type ErrorCode } from "../base/errors.ts";
import type { BeginSpan, CallSpan } from "./call_tracing.ts";
import { compress, decompress } from "./compression.ts";
import { Http2Code } from "./frames.ts";
import type { H2Stream, StreamEvents } from "./h2_stream.ts";
import { type HeaderBlock, Known } from "./hpack_decoder.ts";
import type { HeaderTemplate } from "./hpack_encoder.ts";
import { MessageReader, type MessageTarget } from "./message_reader.ts";
import { encodeMetadata, Metadata, type MetadataInit } from "./metadata.ts";
import type { Session } from "./session.ts";
import {
  Code,
  decodeStatusMessage,
  errorCodeOfStatus,
  statusOfErrorCode,
  statusOfHttp,
  statusOfReset,
} from "./status.ts";
import { fineWheel, type WheelTimer } from "./timer_wheel.ts";
import { formatTimeout } from "./timeouts.ts";

/** Options of one call. */
export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** Time for the whole call, dialling included; without it the call may last for ever. */
  readonly timeoutMs?: number;
  readonly metadata?: MetadataInit;
  /** Sends the messages compressed with gzip. */
  readonly compress?: boolean;
  /** Waits for a target that cannot be reached instead of failing at once. */
  readonly waitForReady?: boolean;
  /** Learns the headers of the reply. */
  readonly onHeaders?: (headers: Metadata) => void;
  /** Learns the trailers of the reply. */
  readonly onTrailers?: (trailers: Metadata) => void;
}

/** What the user of a {@linkcode ClientCall} learns from it. */
export interface CallEvents {
  onMessage(message: Uint8Array): void;
  /** The call is over; `error` is absent when the status is OK. */
  onEnd(error: CodedError | undefined): void;
  /** The peer did not process the call at all. Returns whether it is taken care of. */
  onUnprocessed?(): boolean;
}

/** A call from its first dial to its end: deadline, cancellation, stream. */
export class ClientCall implements StreamEvents, MessageTarget {
  readonly #path: string;
  readonly #options: CallOptions;
  readonly #events: CallEvents;
  readonly #deadlineAtMs: number | undefined;
  readonly #span: CallSpan | undefined;
  #timer: WheelTimer | undefined;
  /** The listener of the caller's signal, when there is one. */
  #onAbort: (() => void) | undefined;
  #stream: H2Stream | undefined;
  #reader: MessageReader | undefined;
  #encoding: string | undefined;
  #sawHeaders = false;
  #owedBytes = 0;
  #paused = false;
  /** Whether the call is over. */
  done = false;

  constructor(path: string, options: CallOptions, events: CallEvents, beginSpan?: BeginSpan) {
    this.#path = path;
    this.#options = options;
    this.#events = events;
    if (beginSpan !== undefined) {
      const [, service = "", method = ""] = path.split("/");
      this.#span = beginSpan(service, method);
    }
    const { timeoutMs, signal } = options;
    if (timeoutMs !== undefined) {
      this.#deadlineAtMs = performance.now() + timeoutMs;
      this.#timer = fineWheel.schedule(timeoutMs, () => {
        this.cancel("deadlineExceeded", `Call of ${path} took longer than ${timeoutMs} ms`);
      });
    }
    if (signal === undefined) return;
    const onAbort = (): void => {
      this.cancel("cancelled", `Call of ${path} was cancelled`, signal.reason);
    };
    if (signal.aborted) onAbort();
    else {
      this.#onAbort = onAbort;
      signal.addEventListener("abort", onAbort);
    }
  }

  /** Opens the stream. Returns `false` when the session has no room for it. */
  open(session: Session, template: HeaderTemplate): boolean {
    const { metadata, compress: compressed } = this.#options;
    let fields: string[] | undefined;
    if (this.#deadlineAtMs !== undefined) {
      fields = ["grpc-timeout", formatTimeout(this.#deadlineAtMs - performance.now())];
    }
    if (compressed) (fields ??= []).push("grpc-encoding", "gzip");
    if (metadata !== undefined) (fields ??= []).push(...encodeMetadata(metadata));
    this.#stream = session.open(this, template, fields);
    return this.#stream !== undefined;
  }

  /** Sends a message; the promise settles when there is room for the next one. */
  send(message: Uint8Array, end: boolean, compressed = true): Promise<void> | undefined {
    if (this.done || this.#stream === undefined) return undefined;
    if (this.#options.compress && compressed) this.#stream.send(1, compress(message), end);
    else this.#stream.send(0, message, end);
    return this.#stream.ready();
  }

  /** Says that no more messages follow. */
  sendEnd(): void {
    this.#stream?.sendEnd();
  }

  /** Ends the call with an error and tells the peer. */
  cancel(
    code: ErrorCode,
    text: string,
    cause?: unknown,
  ): void {
    if (this.done) return;
    this.#stream?.reset(Http2Code.Cancel);
    this.fail(new CodedError(code, text, cause === undefined ? {} : { cause }));
  }

  /** Ends the call with an error. */
  fail(error: CodedError | undefined): void {
    if (this.done) return;
    this.done = true;
    this.#timer?.cancel();
    if (this.#onAbort !== undefined) {
      this.#options.signal?.removeEventListener("abort", this.#onAbort);
    }
    this.#reader?.release();
    this.#span?.end(error === undefined ? Code.Ok : statusOfErrorCode(error.code));
    this.#events.onEnd(error);
  }

  /** Stops giving window back, because messages wait for their reader. */
  pause(): void {
    this.#paused = true;
  }

  /** Goes on giving window back. */
  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#stream?.consume(this.#owedBytes);
    this.#owedBytes = 0;
  }

  onHeaders(block: HeaderBlock, endStream: boolean): void {
    if (this.done) return;
    const { known } = block;
    const status = known[Known.Status];
    if (!this.#sawHeaders) {
      if (status === undefined) return this.#broken("A reply without a status");
      // An interim reply says nothing.
      if (status.startsWith("1") && !endStream) return;
      this.#sawHeaders = true;
      const isGrpc = known[Known.ContentType]?.startsWith("application/grpc") ?? false;
      if (known[Known.GrpcStatus] === undefined && (status !== "200" || !isGrpc)) {
        return this.#httpReply(status, known[Known.ContentType]);
      }
      this.#encoding = known[Known.Encoding];
      if (!endStream) return this.#options.onHeaders?.(new Metadata(block.fields));
    } else if (!endStream) return this.#broken("Headers twice");
    this.#onStatus(block);
  }

  onData(buffer: Uint8Array, start: number, end: number, endStream: boolean): void {
    const stream = this.#stream;
    if (this.done || stream === undefined) return;
    if (!this.#sawHeaders) return this.#broken("A reply without headers");
    const reader = this.#reader ??= new MessageReader(stream.session);
    const fault = reader.feed(buffer, start, end, this);
    if (this.#paused) this.#owedBytes += end - start;
    else stream.consume(end - start);
    if (fault !== undefined) {
      this.cancel(
        fault.code === Code.ResourceExhausted ? "resourceExhausted" : "internal",
        fault.message,
      );
    } else if (endStream) this.#broken("A reply that ends without a status");
  }

  onReset(code: number, error?: unknown): void {
    if (this.done) return;
    if (code === Http2Code.RefusedStream && this.#events.onUnprocessed?.() === true) {
      this.#stream = undefined;
      return;
    }
    if (error !== undefined) {
      const text = `Call of ${this.#path} lost its connection`;
      return this.fail(new CodedError("unavailable", text, { cause: error }));
    }
    if (this.#deadlineAtMs !== undefined && performance.now() >= this.#deadlineAtMs) {
      // The peer's clock of the same deadline was the faster one.
      const text = `Call of ${this.#path} took longer than ${this.#options.timeoutMs} ms`;
      return this.fail(new CodedError("deadlineExceeded", text));
    }
    const status = errorCodeOfStatus(statusOfReset(code));
    this.fail(new CodedError(status, `Call of ${this.#path} was reset with HTTP/2 code ${code}`));
  }

  onMessage(bytes: Uint8Array, compressed: boolean): void {
    if (this.done || this.#stream === undefined) return;
    if (!compressed) return this.#events.onMessage(bytes);
    try {
      const { maxMessageBytes } = this.#stream.session.limits;
      this.#events.onMessage(decompress(bytes, this.#encoding, maxMessageBytes));
    } catch (error) {
      const isLarge = error instanceof CodedError && error.code === "resourceExhausted";
      this.cancel(isLarge ? "resourceExhausted" : "internal", "Cannot read a reply", error);
    }
  }

  #onStatus(block: HeaderBlock): void {
    const text = block.known[Known.GrpcStatus];
    const trailers = new Metadata(block.fields);
    this.#options.onTrailers?.(trailers);
    if (text === "0") return this.fail(undefined);
    if (text === undefined || !/^[0-9]+$/.test(text)) {
      return this.#broken("A reply that ends without a status");
    }
    const message = decodeStatusMessage(block.known[Known.GrpcMessage] ?? "");
    this.fail(
      new CodedError(errorCodeOfStatus(Number(text)), message, {
        details: { path: this.#path, status: Number(text), trailers },
      }),
    );
  }

  #httpReply(status: string, contentType: string | undefined): void {
    const code = errorCodeOfStatus(statusOfHttp(Number(status)));
    this.#stream?.reset(Http2Code.Cancel);
    const text = `Call of ${this.#path} was answered by HTTP status ${status} and content type ` +
      `"${contentType ?? ""}"`;
    this.fail(new CodedError(code, text));
  }

  #broken(what: string): void {
    this.cancel("internal", `Call of ${this.#path} failed: ${what}`);
  }
}
