// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A sender of forged initiations at a fixed rate, for `tunnel_storm_bench.ts`: one half is random,
 * the other has a valid first MAC, which anybody can make who knows the server's public key.
 *
 * @module
 */

import { secureRandom } from "../../link/addresses.ts";
import { keyBytes } from "../../link/keys.ts";
import { steadyClock } from "../../link/timers.ts";
import { bindUdpByLibrary } from "../../link/udp_library.ts";
import { MacWriter } from "../../link/wireguard/cookies.ts";
import { INITIATION, INITIATION_SIZE } from "../../link/wireguard/messages.ts";
import { serveLines } from "./line_process.ts";

/** What the program is asked for. */
export interface StormRequest {
  /** The server's key, base64. */
  readonly publicKey: string;
  readonly port: number;
  /** Initiations in a second, and for how long. */
  readonly rate: number;
  readonly forMs: number;
}

/** A host of its own, where no peer was ever seen. */
const HOSTNAME = "127.0.0.2";
const SOCKETS = 64;
const MESSAGES = 4096;
const MESSAGES_A_CALL = 16;
/** Between bursts, in ms. */
const PAUSE_MS = 2;

// A call for many messages: the attacker shares its cores with what it attacks, and has to be cheap.
const sockets = Array.from({ length: SOCKETS }, () => bindUdpByLibrary(HOSTNAME, 0));

function forge(publicKey: string): Uint8Array[] {
  const writer = new MacWriter(keyBytes(publicKey, "public key"));
  return Array.from({ length: MESSAGES }, (_, i) => {
    const message = secureRandom(INITIATION_SIZE);
    message.set([INITIATION, 0, 0, 0]);
    // Nobody has sent a cookie: the second MAC is empty, as it is in every first initiation.
    message.fill(0, INITIATION_SIZE - 16);
    if (i % 2 === 0) writer.write(message, 0);
    return message;
  });
}

/** Returns how many were sent. */
async function storm({ publicKey, port, rate, forMs }: StormRequest): Promise<number> {
  const messages = forge(publicKey);
  const to = { hostname: "127.0.0.1", port };
  const startMs = steadyClock.nowMs();
  let sent = 0;
  for (let nowMs = startMs; nowMs < startMs + forMs; nowMs = steadyClock.nowMs()) {
    const due = Math.floor((nowMs - startMs) * rate / 1000);
    for (; sent < due; sent++) {
      const message = messages[sent % MESSAGES];
      // A few at a time from one socket, so that the sources stay many and the calls few.
      const socket = sockets[Math.floor(sent / MESSAGES_A_CALL) % SOCKETS];
      if (message !== undefined) socket?.send(message, to);
    }
    await steadyClock.sleep(PAUSE_MS);
  }
  return sent;
}

await serveLines((message) => storm(message as StormRequest));
for (const socket of sockets) socket.close();
