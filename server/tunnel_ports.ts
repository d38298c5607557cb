// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Ports of the server inside the tunnel; machines learn them from their kernel arguments.
 *
 * @module
 */

/** Takes events of machines, as gRPC. */
export const EVENTS_PORT = 8091;

/** Takes kernel logs of machines, one JSON object a line. */
export const LOGS_PORT = 8092;
