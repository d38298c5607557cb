// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What a program and the thread of its fleet say to each other.
 *
 * @module
 */

import type { LogFields, LogLevel } from "../base/log.ts";
import type { FleetOptions } from "./fleet.ts";
import type { MachineView } from "./machine.ts";

/** What can be done to one machine. */
export type FleetAction = "reboot" | "powerOff" | "powerOn" | "wipeDisk";

/** From the program; every request is answered under its ID. */
export type FleetRequest =
  & { readonly id: number }
  & (
    | { readonly kind: "start"; readonly options: FleetOptions }
    | { readonly kind: "act"; readonly uuid: string; readonly action: FleetAction }
    | { readonly kind: "calls"; readonly uuid: string }
    | { readonly kind: "memory" }
    | { readonly kind: "stop" }
  );

/** What goes into a request beside its ID. */
export type FleetRequestBody = FleetRequest extends infer R
  ? R extends unknown ? Omit<R, "id"> : never
  : never;

/** What a reply may carry: calls by method name, or a memory. */
export type FleetValue = Map<string, number> | string;

/** From the thread. */
export type FleetMessage =
  | { readonly kind: "reply"; readonly id: number; readonly value?: FleetValue }
  | { readonly kind: "error"; readonly id: number; readonly text: string }
  /** Sent after changes, not more often than {@linkcode VIEW_INTERVAL_MS} says. */
  | { readonly kind: "views"; readonly views: readonly MachineView[] }
  | {
    readonly kind: "log";
    readonly level: Exclude<LogLevel, "silent">;
    readonly message: string;
    readonly fields: LogFields;
  };

/** Shortest time between two views, in milliseconds: faster than an eye follows a table. */
export const VIEW_INTERVAL_MS = 50;
