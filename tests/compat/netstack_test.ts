// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The tunnel against the public WireGuard device and TCP in Go, without any privilege: one machine
 * in both directions, and 200 at once.
 *
 * @module
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { silentLogger } from "../../base/log.ts";
import { randomNodeAddress, SERVER_ADDRESS } from "../../link/addresses.ts";
import { generateKey } from "../../link/keys.ts";
import { echo, exchange, pattern } from "../../link/testing.ts";
import { startTunnel, type Tunnel } from "../../link/tunnel.ts";
import { endChild } from "../child_process.ts";

const FOLDER = fileURLToPath(new URL("./netstack", import.meta.url));
const ignore = !await hasGo();

if (ignore) console.warn("There is no Go 1.26: the tests against its WireGuard are left out");

async function hasGo(): Promise<boolean> {
  try {
    const { stdout } = await new Deno.Command("go", { args: ["env", "GOVERSION"] }).output();
    return Number(/^go1\.(\d+)/.exec(new TextDecoder().decode(stdout))?.[1]) >= 26;
  } catch {
    return false;
  }
}

interface Machines {
  readonly addresses: readonly string[];
  /** All machines carry out a command; fails with what went wrong first. */
  run(command: Readonly<Record<string, unknown>>): Promise<void>;
}

/** A tunnel and `count` machines that know of each other. */
async function withMachines(
  count: number,
  use: (tunnel: Tunnel, machines: Machines) => Promise<void>,
): Promise<void> {
  const directory = await Deno.makeTempDir();
  const program = `${directory}/netstack`;
  const key = generateKey();
  const tunnel = await startTunnel({
    privateKey: key.privateKey,
    port: 0,
    bindAddress: "127.0.0.1",
    address: SERVER_ADDRESS,
    mode: "user",
    log: silentLogger,
  });
  let child: Deno.ChildProcess | undefined;
  let ask: ReturnType<typeof lineClient> | undefined;
  try {
    const build = await new Deno.Command("go", {
      args: ["build", "-o", program, "."],
      cwd: FOLDER,
    }).output();
    assert.ok(build.success, new TextDecoder().decode(build.stderr));
    const configs = Array.from({ length: count }, () => ({
      ...generateKey(),
      address: randomNodeAddress(),
      serverPublicKey: key.publicKey,
      serverAddress: SERVER_ADDRESS,
      endpoint: `127.0.0.1:${tunnel.port}`,
    }));
    for (const { address, publicKey } of configs) {
      await tunnel.peers.put(address, { publicKey, allowedIp: address });
    }
    child = new Deno.Command(program, { stdin: "piped", stdout: "piped" }).spawn();
    ask = lineClient(child);
    await ask(configs);
    await use(tunnel, { addresses: configs.map(({ address }) => address), run: ask });
    await ask(undefined);
  } catch (error) {
    // It would wait for more to do for ever.
    if (child !== undefined) await endChild(child, "SIGKILL");
    await ask?.(undefined);
    throw error;
  } finally {
    await child?.status;
    await tunnel.close();
    await Deno.remove(directory, { recursive: true });
  }
}

/** Below those that the machines' TCP takes for what it dials: each of them may be in use. */
const ECHO_PORT = 8000;

/** Asks in JSON lines and wants "ok"; `undefined` ends the conversation. */
function lineClient(child: Deno.ChildProcess): (request: unknown) => Promise<void> {
  const writer = child.stdin.getWriter();
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  return async (request) => {
    if (request === undefined) {
      // Machines that are gone have closed it.
      await writer.close().catch(() => {});
      await reader.cancel();
      return;
    }
    await writer.write(new TextEncoder().encode(`${JSON.stringify(request)}\n`));
    let line = "";
    while (!line.endsWith("\n")) {
      const { value, done } = await reader.read();
      assert.ok(!done, "The machines are gone");
      line += value;
    }
    assert.equal(line, "ok\n");
  };
}

/** Echoes every connection to a port of the tunnel while `use` runs; returns who came. */
async function whileEchoing(
  tunnel: Tunnel,
  port: number,
  use: () => Promise<void>,
): Promise<Set<string>> {
  const listener = await tunnel.net.listen(port);
  const who = new Set<string>();
  const pending: Promise<void>[] = [];
  const serving = (async () => {
    for await (const { stream, remoteAddress } of listener) {
      who.add(remoteAddress);
      pending.push(echo(stream).finally(() => stream.close()));
    }
  })();
  await use();
  listener.close();
  await serving;
  await Promise.all(pending);
  return who;
}

/** Sends data to a machine that echoes, over a new connection. */
async function exchangeWith(tunnel: Tunnel, address: string, data: Uint8Array): Promise<void> {
  const client = await tunnel.net.dial(address, ECHO_PORT);
  try {
    await exchange(client, data);
  } finally {
    client.close();
  }
}

Deno.test({
  name: "startTunnel() works both ways with the Go device and its TCP",
  ignore,
  fn: () =>
    withMachines(1, async (tunnel, { addresses: [address = ""], run }) => {
      const bytes = 4 * 1024 * 1024;
      const who = await whileEchoing(
        tunnel,
        8091,
        () => run({ kind: "send", address: SERVER_ADDRESS, port: 8091, bytes }),
      );
      assert.deepEqual([...who], [address]);
      await run({ kind: "listen", port: ECHO_PORT });
      await exchangeWith(tunnel, address, pattern(bytes));
    }),
});

Deno.test({
  name: "startTunnel() serves 200 Go machines at once",
  ignore,
  fn: () =>
    withMachines(200, async (tunnel, { addresses, run }) => {
      const who = await whileEchoing(
        tunnel,
        8091,
        () => run({ kind: "send", address: SERVER_ADDRESS, port: 8091, bytes: 65_536 }),
      );
      assert.deepEqual(who, new Set(addresses));
      await run({ kind: "listen", port: ECHO_PORT });
      await Promise.all(addresses.map((address) => exchangeWith(tunnel, address, pattern(10_000))));
      const stats = await tunnel.peers.stats();
      assert.ok([...stats.values()].every(({ lastHandshakeMs }) => lastHandshakeMs > 0));
    }),
});
