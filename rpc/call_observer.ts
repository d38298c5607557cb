// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Who looks at calls from outside of their handlers.
 *
 * @module
 */

import type { Logger } from "../base/log.ts";
import type { BeginSpan } from "./call_tracing.ts";
import type { CallContext, MethodType } from "./service.ts";
import type { Code } from "./status.ts";

/** A method as observers and interceptors see it. */
export interface CalledMethod {
  readonly service: string;
  readonly name: string;
  readonly type: MethodType;
}

/** Learns of calls; it must not throw. */
export interface CallObserver {
  callStarted?(method: CalledMethod): void;
  callEnded?(method: CalledMethod, code: Code, durationMs: number): void;
  messageReceived?(method: CalledMethod): void;
  messageSent?(method: CalledMethod): void;
  /** A handler threw something that is no `CodedError`. */
  panicked?(method: CalledMethod, error: unknown): void;
  /** Begins a span around a call, which ends with it; without this calls have none. */
  readonly beginSpan?: BeginSpan | undefined;
}

/** Runs before the handler and refuses the call by throwing a `CodedError`. */
export type Interceptor = (context: CallContext, method: CalledMethod) => void | Promise<void>;

/** What all calls of a connection share. */
export interface CallEnvironment {
  readonly log: Logger;
  readonly observer: CallObserver;
  readonly interceptors: readonly Interceptor[];
  readonly remoteAddress: string;
  readonly remotePort: number;
}
