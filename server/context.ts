// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the parts of a starting server share.
 *
 * @module
 */

import type { Registry } from "prom-client";
import type { Logger } from "../base/log.ts";
import type { Telemetry } from "../base/telemetry.ts";
import type { RpcServer } from "../rpc/server.ts";
import type { CallObserver } from "../rpc/call_observer.ts";
import type { StreamListener } from "../rpc/stream.ts";
import type { Decompressor } from "./compression/dictionary.ts";
import type { Config } from "./config/parse_config.ts";

/** The surroundings of one server. */
export interface Context {
  readonly config: Config;
  readonly log: Logger;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
  readonly registry: Registry;
  /** Reads the compressed fields of clients. */
  readonly decompressor: Decompressor;
  /** Where spans go, where the environment of the process asks for them. */
  readonly telemetry: Telemetry | undefined;
  /** Counts the calls of every gRPC port, and puts spans around them. */
  readonly observer: CallObserver;
  /** Ends the server for a fault that it cannot go on with. */
  readonly fail: (error: unknown) => void;
  /** What is released at the end, last first. */
  readonly cleanup: AsyncDisposableStack;
}

/** Calls that run get this long to finish when the server stops, in ms. */
const DRAIN_MS = 2_000;

/** Stops accepting, lets calls finish and closes. */
export async function closeRpc(server: RpcServer, listener: StreamListener): Promise<void> {
  listener.close();
  await server.drain(DRAIN_MS);
  server.close();
}

/** A loop that ends by an error takes the server down, for the supervisor to start it afresh. */
export function inBackground({ fail, signal }: Context, work: Promise<unknown>): void {
  work.catch((error) => signal.aborted || fail(error));
}
