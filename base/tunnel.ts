// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * What the tunnel's two sides agree on: the device, and the configuration that names the server.
 *
 * @module
 */

/** The server's own address inside every tunnel; fixed by the siderolink protocol. */
export const SERVER_TUNNEL_ADDRESS = "fdae:41e4:649b:9303::1";
