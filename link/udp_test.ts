// SPDX-License-Identifier: AGPL-3.0-or-later

/** Both sockets, the runtime's and the C library's, behave the same. @module */

import assert from "node:assert/strict";
import { codeOf } from "../base/errors.ts";
import { loopTurn } from "../base/turn.ts";
import { assertSame, pattern } from "./testing.ts";
import { bindUdp, type UdpBind, type UdpEndpoint } from "./udp.ts";
import { bindServerUdp, bindUdpByLibrary } from "./udp_library.ts";

const isLinux = Deno.build.os === "linux";
const note = isLinux ? "" : " (skipped: needs Linux)";

const KINDS: readonly (readonly [string, typeof bindUdp, boolean])[] = [
  ["bindUdp()", bindUdp, false],
  [`bindUdpByLibrary()${note}`, bindUdpByLibrary, !isLinux],
];

/** Far more than loopback takes on a busy machine. */
const DEADLINE_MS = 20_000;

interface Received {
  readonly data: Uint8Array;
  readonly source: UdpEndpoint;
}

/** A running socket and what came in. */
class Runner implements AsyncDisposable {
  readonly received: Received[] = [];
  readonly running: Promise<void>;
  #wake = (): void => {};

  constructor(readonly bind: UdpBind, answer?: (data: Uint8Array) => Uint8Array) {
    this.running = bind.run((datagram, source) => {
      const { hostname, port } = source;
      this.received.push({ data: datagram.slice(), source: { hostname, port } });
      if (answer !== undefined) bind.send(answer(datagram.slice()), source);
      this.#wake();
    });
  }

  /** Waits for so many datagrams. */
  async until(count: number): Promise<void> {
    const late = AbortSignal.timeout(DEADLINE_MS);
    late.addEventListener("abort", () => this.#wake(), { once: true });
    while (this.received.length < count) {
      await new Promise<void>((resolve) => this.#wake = resolve);
      assert.ok(!late.aborted, `${this.received.length} of ${count} datagrams in time`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.bind.close();
    await this.running;
  }
}

for (const [name, bind, ignore] of KINDS) {
  for (const [hostname, peer] of [["127.0.0.1", "127.0.0.1"], ["::", "127.0.0.1"], ["::", "::1"]]) {
    if (hostname === undefined || peer === undefined) continue;
    Deno.test({
      name: `${name} on ${hostname} knows ${peer} by its own address, and answers it`,
      ignore,
      fn: async () => {
        await using server = new Runner(bind(hostname, 0), (data) => data.reverse());
        // The other side is the runtime's own, with nothing of ours in between.
        const client = Deno.listenDatagram({ transport: "udp", hostname: peer, port: 0 });
        const { port } = client.addr as Deno.NetAddr;
        const address = { transport: "udp", hostname: peer, port: server.bind.port } as const;
        await client.send(new Uint8Array([1, 2, 3]), address);
        const [reply, source] = await client.receive();
        client.close();
        assert.deepEqual([...reply], [3, 2, 1]);
        assert.equal((source as Deno.NetAddr).port, server.bind.port);
        assert.deepEqual(server.received, [
          { data: new Uint8Array([1, 2, 3]), source: { hostname: peer, port } },
        ]);
      },
    });
  }

  Deno.test({
    name: `${name} carries datagrams of all sizes in their order, sent in one go`,
    ignore,
    fn: async () => {
      await using server = new Runner(bind("127.0.0.1", 0));
      await using other = new Runner(bind("127.0.0.1", 0));
      await using client = new Runner(bind("127.0.0.1", 0));
      const target = { hostname: "127.0.0.1", port: server.bind.port };
      const elsewhere = { hostname: "127.0.0.1", port: other.bind.port };
      // Runs of one size with a shorter end, one alone, an empty one, and another peer in between.
      const sizes = [...Array(70).fill(1312), 17, 600, 600, 600, 0, 1, 1, 2, ...Array(10).fill(32)];
      for (const [i, size] of sizes.entries()) {
        if (i % 25 === 10) client.bind.send(pattern(i), elsewhere);
        client.bind.send(pattern(size + i).subarray(i), target);
      }
      await server.until(sizes.length);
      await other.until(4);
      for (const [i, size] of sizes.entries()) {
        assertSame(server.received[i]?.data ?? new Uint8Array(), pattern(size + i).subarray(i));
      }
      assert.deepEqual(other.received.map(({ data }) => data.length), [10, 35, 60, 85]);
    },
  });

  Deno.test({
    name: `${name} goes on when nobody listens, or nothing leads to a peer`,
    ignore,
    fn: async () => {
      await using client = new Runner(bind("127.0.0.1", 0));
      const gone = bind("127.0.0.1", 0);
      const closed = { hostname: "127.0.0.1", port: gone.port };
      gone.close();
      await using server = new Runner(bind("127.0.0.1", 0));
      const target = { hostname: "127.0.0.1", port: server.bind.port };
      client.bind.send(new Uint8Array(20), { hostname: "203.0.113.1", port: 9 });
      for (let i = 0; i < 10; i++) {
        client.bind.send(new Uint8Array([i]), closed);
        client.bind.send(new Uint8Array([i]), target);
        await server.until(i + 1);
      }
      assert.deepEqual(server.received.map(({ data }) => data[0]), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    },
  });

  Deno.test({
    name: `${name} says that a port is taken, and that an address is not ours`,
    ignore,
    fn: () => {
      const first = bind("127.0.0.1", 0);
      const isUnavailable = (error: unknown): boolean => codeOf(error) === "unavailable";
      assert.throws(() => bind("127.0.0.1", first.port), isUnavailable);
      assert.throws(() => bind("203.0.113.1", 0), isUnavailable);
      first.close();
    },
  });

  Deno.test({
    name: `${name} frees its port when it is closed, however far it got`,
    ignore,
    fn: async () => {
      const idle = bind("127.0.0.1", 0);
      const { port } = idle;
      idle.close();
      idle.close();
      await idle.run(() => {});
      const again = bind("127.0.0.1", port);
      const running = again.run(() => {});
      again.close();
      again.send(new Uint8Array(10), { hostname: "127.0.0.1", port });
      await running;
      bind("127.0.0.1", port).close();
    },
  });
}

Deno.test({
  name: `bindUdpByLibrary() has room for a burst that the system's default has not${note}`,
  ignore: !isLinux,
  fn: async () => {
    const bind = bindServerUdp("127.0.0.1", 0);
    const { receiveBufferBytes = 0 } = bind;
    // What the kernel counts for one of our datagrams is less than twice its size.
    const count = Math.min(Math.floor(receiveBufferBytes / 2 / 1312), 2000);
    await using client = new Runner(bindUdp("127.0.0.1", 0));
    const target = { hostname: "127.0.0.1", port: bind.port };
    for (let i = 0; i < count; i++) client.bind.send(new Uint8Array(1312), target);
    // A second socket gets the last one: all before it are in the buffer of the first.
    await using last = new Runner(bindUdp("127.0.0.1", 0));
    client.bind.send(new Uint8Array(1), { hostname: "127.0.0.1", port: last.bind.port });
    await last.until(1);
    await using server = new Runner(bind);
    await server.until(count);
    assert.equal(server.received.length, count);
  },
});

Deno.test({
  name: `bindUdpByLibrary() works on after the permission to load libraries is gone${note}`,
  ignore: !isLinux,
  fn: async () => {
    const source = `
      import { bindUdpByLibrary } from "${new URL("udp_library.ts", import.meta.url)}";
      const bind = bindUdpByLibrary("::", 0);
      Deno.permissions.revokeSync({ name: "ffi" });
      const got = [];
      const running = bind.run((datagram, source) => {
        got.push([...datagram, source.hostname]);
        if (got.length === 2) bind.close();
      });
      bind.send(new Uint8Array([1]), { hostname: "203.0.113.1", port: 9 });
      for (const n of [2, 3]) bind.send(new Uint8Array([n]), { hostname: "127.0.0.1", port: bind.port });
      await running;
      try {
        bindUdpByLibrary("::", 0);
      } catch (error) {
        got.push(error.message);
      }
      console.log(JSON.stringify(got));`;
    const { stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", `--config=${new URL("../deno.json", import.meta.url).pathname}`, source],
      stderr: "inherit",
    }).output();
    assert.deepEqual(JSON.parse(new TextDecoder().decode(stdout)), [
      [2, "127.0.0.1"],
      [3, "127.0.0.1"],
      "Cannot call the C library: the program runs without --allow-ffi",
    ]);
  },
});

Deno.test({
  name: `bindUdpByLibrary() lets what is in no hurry gather${note}`,
  ignore: !isLinux,
  fn: async () => {
    const bind = bindUdpByLibrary("127.0.0.1", 0);
    let calls = 0;
    const callOf: number[] = [];
    let wake = (): void => {};
    const running = bind.run(() => {
      // All that one call brought is handed over before the next microtask.
      if (callOf.at(-1) !== calls) queueMicrotask(() => calls++);
      callOf.push(calls);
      wake();
    }, () => true);
    const client = Deno.listenDatagram({ transport: "udp", hostname: "127.0.0.1", port: 0 });
    const address = { transport: "udp", hostname: "127.0.0.1", port: bind.port } as const;
    const send = async (): Promise<void> => void await client.send(new Uint8Array(1), address);
    const until = async (count: number): Promise<void> => {
      while (callOf.length < count) await new Promise<void>((resolve) => wake = resolve);
    };
    const late = performance.now() + DEADLINE_MS;
    // A machine that is busy may take longer between the two than they are waited for.
    for (let cameTogether = false; !cameTogether;) {
      assert.ok(performance.now() < late, "two that follow each other never came together");
      const before = callOf.length;
      await send();
      await until(before + 1);
      await send();
      await loopTurn();
      await send();
      await until(before + 3);
      cameTogether = callOf[before + 1] === callOf[before + 2];
    }
    client.close();
    bind.close();
    await running;
  },
});
