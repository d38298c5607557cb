// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A program on the far side of a tunnel, over the kernel's TCP: `echo PORT` answers with what it
 * gets, `send ADDRESS PORT BYTES` sends a pattern, checks the echo and prints "same".
 *
 * @module
 */

import { assertSame, echo, pattern, readAll, writeAll } from "../../link/testing.ts";

const [command, first = "", second = "", third = ""] = Deno.args;
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
  const connection = await Deno.connect({ hostname: first, port: Number(second) });
  const data = pattern(Number(third));
  const received = readAll(connection);
  await writeAll(connection, data);
  await connection.closeWrite();
  assertSame(await received, data);
  connection.close();
  print("same");
}
