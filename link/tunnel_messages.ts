// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the program and the thread of the tunnel say to each other.
 *
 * Bytes of streams move by transfer. Each side may have as many on the way as the other has given
 * credit for, so a slow reader holds back the peer instead of filling memory.
 *
 * @module
 */

import { CodedError, codeOf, type ErrorCode } from "../base/errors.ts";
import type { PortRange } from "../base/port_range.ts";
import type { PeerConfig, PeerStats } from "./peers.ts";

/** Bytes of a stream that may be on the way to each side at first. */
export const STREAM_CREDIT = 256 * 1024;
/** The most that one message carries. */
export const CHUNK_SIZE = 64 * 1024;

/** An error, as it crosses. */
export interface ErrorMessage {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What the device is made of; see `DeviceOptions`. */
export interface StartMessage {
  readonly privateKey: string;
  readonly port: number;
  readonly bindAddress?: string;
  readonly address: string;
  /** As in `DeviceOptions`. */
  readonly openPorts?: readonly PortRange[];
}

/**
 * What carries TCP inside the tunnel: our own code in the thread, or the kernel behind a TUN
 * interface or behind its own WireGuard.
 */
export type InnerKind = "user" | "tun" | "kernel";

/** Something asked for, with the number under which it is answered. */
export type Request =
  | { readonly kind: "start"; readonly inner: InnerKind; readonly options: StartMessage }
  | { readonly kind: "listen"; readonly port: number }
  | { readonly kind: "dial"; readonly address: string; readonly port: number }
  | { readonly kind: "putPeer"; readonly peer: string; readonly config: PeerConfig }
  | { readonly kind: "removePeer"; readonly peer: string }
  | { readonly kind: "stats" }
  | { readonly kind: "close" };

/** From the program to the thread. */
export type ToThread =
  | { readonly kind: "request"; readonly id: number; readonly request: Request }
  | { readonly kind: "cancel"; readonly id: number }
  | { readonly kind: "closeListener"; readonly listener: number }
  | { readonly kind: "data"; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly kind: "credit"; readonly stream: number; readonly bytes: number }
  | { readonly kind: "closeWrite"; readonly stream: number }
  | { readonly kind: "closeStream"; readonly stream: number }
  | { readonly kind: "attach"; readonly way: number; readonly endpoint: string }
  | { readonly kind: "packet"; readonly way: number; readonly bytes: Uint8Array }
  | { readonly kind: "detach"; readonly way: number };

/** What a request is answered with. */
export interface Reply {
  /** The number of a listener or of a stream. */
  readonly handle?: number;
  readonly port?: number;
  /** Of a device that has started; absent when it is the system's default. */
  readonly receiveBufferBytes?: number;
  readonly stats?: Map<string, PeerStats>;
}

/** From the thread to the program. */
export type FromThread =
  | { readonly kind: "reply"; readonly id: number; readonly reply: Reply }
  | { readonly kind: "error"; readonly id: number; readonly error: ErrorMessage }
  | {
    readonly kind: "accepted";
    readonly listener: number;
    readonly stream: number;
    readonly remoteAddress: string;
    readonly remotePort: number;
  }
  | { readonly kind: "data"; readonly stream: number; readonly bytes: Uint8Array }
  | { readonly kind: "credit"; readonly stream: number; readonly bytes: number }
  | { readonly kind: "end"; readonly stream: number }
  | { readonly kind: "broken"; readonly stream: number; readonly error: ErrorMessage }
  | { readonly kind: "packet"; readonly way: number; readonly bytes: Uint8Array }
  | { readonly kind: "detached"; readonly way: number; readonly error: ErrorMessage }
  | { readonly kind: "failed"; readonly error: ErrorMessage };

/** Makes an error fit to cross. */
export function errorMessage(error: unknown): ErrorMessage {
  return {
    code: codeOf(error) ?? "internal",
    message: error instanceof Error ? error.message : String(error),
  };
}

/** The error that crossed. */
export function errorOf({ code, message }: ErrorMessage): CodedError {
  return new CodedError(code, message);
}
