// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A server of the state as a process that tests start, freeze and kill.
 *
 * @module
 */

import { systemClock } from "../../base/clock.ts";
import { CodedError } from "../../base/errors.ts";
import { createRemoteState } from "../../cosi/state/grpc_client.ts";
import type { State } from "../../cosi/state/state.ts";
import { type Channel, createChannel } from "../../rpc/channel.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { endChild } from "../child_process.ts";

const SERVER = new URL("../compat/state_server.ts", import.meta.url).pathname;

/** Between two looks for the server's port, in ms. */
const LOOK_EVERY_MS = 10;

/** A running server. */
export interface StateProcess extends AsyncDisposable {
  readonly state: State;
  readonly status: Promise<Deno.CommandStatus>;
  /** Waits until it answers. */
  ready(timeoutMs: number): Promise<void>;
  /** What it logged so far. */
  log(): string;
  kill(signal: Deno.Signal): void;
}

/** Starts a server with more arguments of `state_server.ts`. */
export function startStateProcess(args: readonly string[]): StateProcess {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", SERVER, "--address", "127.0.0.1:0", ...args],
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let text = "";
  // It takes a port when it is active. One that was chosen before could be another server's by then.
  let port: number | undefined;
  const logged = (async () => {
    for await (const part of child.stderr.pipeThrough(new TextDecoderStream())) {
      text += part;
      const found = /"address":"127.0.0.1:(\d+)","msg":"listening"/.exec(text)?.[1];
      if (found !== undefined) port = Number(found);
    }
  })();
  let ended = false;
  const status = child.status.then((result) => {
    ended = true;
    return result;
  });
  const channel: Channel = createChannel({
    authority: "127.0.0.1",
    dial: async (signal) => {
      if (port === undefined) {
        // Whoever asks again at once would keep the server's word from being read.
        await systemClock.sleep(LOOK_EVERY_MS);
        throw new CodedError("unavailable", "The server does not listen yet");
      }
      return await dialTcp({ hostname: "127.0.0.1", port, signal });
    },
    backoff: { initialMs: 10, maximumMs: 50 },
  });
  const state = createRemoteState(channel);
  return {
    state,
    status,
    async ready(timeoutMs) {
      const end = Date.now() + timeoutMs;
      for (;;) {
        try {
          await state.list({ namespace: "ping", type: "test/ping" });
          return;
        } catch (cause) {
          if (!ended && Date.now() < end) continue;
          throw new Error(`The server does not answer: ${text}`, { cause });
        }
      }
    },
    log: () => text,
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      channel.close();
      await endChild(child, "SIGKILL");
      await logged;
    },
  };
}
