// SPDX-License-Identifier: AGPL-3.0-or-later

/** Both sockets, the runtime's and the C library's, behave the same. @module */

import assert from "node:assert/strict";
import { codeOf } from "../base/errors.ts";
import { loopTurn } from "../base/turn.ts";
import { assertSame, pattern } from "./testing.ts";
import { bindUdp, type UdpBind, type UdpEndpoint } from "./udp.ts";
import { Gathering } from "./udp_gathering.ts";
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

  constructor(
    readonly bind: UdpBind,
    answer?: (data: Uint8Array) => Uint8Array,
    mayGather?: () => boolean,
  ) {
    this.running = bind.run((datagram, source) => {
      const { hostname, port } = source;
      this.received.push({ data: datagram.slice(), source: { hostname, port } });
      if (answer !== undefined) bind.send(answer(datagram.slice()), source);
      this.#wake();
    }, mayGather);
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
  name:
    `bindUdpByLibrary() lets datagrams gather until somebody is in a hurry, or it is closed${note}`,
  ignore: !isLinux,
  fn: async () => {
    let nowMs = 0;
    let isQuiet = true;
    const gathering = new Gathering(() => nowMs, 2 ** 30);
    await using server = new Runner(
      bindUdpByLibrary("127.0.0.1", 0, gathering),
      undefined,
      () => isQuiet,
    );
    await using client = new Runner(bindUdp("127.0.0.1", 0));
    const target = { hostname: "127.0.0.1", port: server.bind.port };
    const send = (count: number): void => {
      for (let i = 0; i < count; i++) client.bind.send(new Uint8Array(1), target);
    };
    const answer = (): void =>
      server.bind.send(new Uint8Array(1), { hostname: "127.0.0.1", port: client.bind.port });
    // At first nobody knows how many come: each is taken as it comes.
    for (let count = 1; count <= 250; count++) {
      send(1);
      await server.until(count);
    }
    nowMs += 1000;
    send(1);
    await server.until(251);
    while (!gathering.isWaiting) await loopTurn();
    send(3);
    answer();
    await client.until(1);
    assert.equal(server.received.length, 251, "what is in no hurry does not wait");
    isQuiet = false;
    answer();
    await server.until(254);
    isQuiet = true;
    send(1);
    await server.until(255);
    while (!gathering.isWaiting) await loopTurn();
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
