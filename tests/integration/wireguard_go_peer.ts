// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Programs in other network namespaces than the test's.
 *
 * On the far side of a tunnel, over the kernel's TCP: `echo PORT` answers with what it gets, and
 * `send ADDRESS PORT BYTES` sends a pattern, checks the echo and prints "same", how many ms it all took
 * and for how many at most nothing came. The near side:
 * `tunnel PRIVATE-KEY PEER-KEY PEER-ADDRESS BYTES` starts a tunnel over a TUN interface, prints its
 * port, echoes on port 8091, and for each line of input sends to port 50000 of the peer.
 *
 * @module
 */

import { silentLogger } from "../../base/log.ts";
import { SERVER_ADDRESS } from "../../link/addresses.ts";
import { echo, readPattern, writePattern } from "../../link/testing.ts";
import { startTunnel } from "../../link/tunnel.ts";
import type { ByteStream } from "../../rpc/stream.ts";

const [command, first = "", second = "", third = "", fourth = ""] = Deno.args;
const print = (line: string): void =>
  void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));

if (command === "echo") {
  const listener = Deno.listen({ hostname: "::", port: Number(first) });
  print("ready");
  for await (const connection of listener) {
    await echo(connection);
    connection.close();
  }
} else if (command === "send") {
  await sendAndCheck(await Deno.connect({ hostname: first, port: Number(second) }), Number(third));
} else if (command === "tunnel") {
  const tunnel = await startTunnel({
    privateKey: first,
    port: 0,
    address: SERVER_ADDRESS,
    mode: "tun",
    log: silentLogger,
  });
  await tunnel.peers.put("m", { publicKey: second, allowedIp: third });
  const listener = await tunnel.net.listen(8091);
  void (async () => {
    for await (const { stream, remoteAddress } of listener) {
      if (remoteAddress === third) await echo(stream);
      stream.close();
    }
  })();
  print(String(tunnel.port));
  const input = new Uint8Array(1);
  while (await Deno.stdin.read(input) !== null) {
    await sendAndCheck(await tunnel.net.dial(third, 8000), Number(fourth));
  }
  listener.close();
  await tunnel.close();
  print("closed");
}

async function sendAndCheck(stream: ByteStream, size: number): Promise<void> {
  const startMs = performance.now();
  const [longestMs] = await Promise.all([readPattern(stream, size), writePattern(stream, size)]);
  stream.close();
  print(`same ${Math.round(performance.now() - startMs)} ${Math.round(longestMs)}`);
}
