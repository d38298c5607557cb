// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { systemClock } from "../base/clock.ts";
import { silentLogger } from "../base/log.ts";
import type { ByteStream, StreamListener } from "../rpc/stream.ts";
import { dialTcp, listenTcp } from "../rpc/tcp.ts";
import { type BalancerNet, type Balancers, createBalancers } from "./balancer.ts";

const DEADLINE_MS = 20_000;

/** A net on loopback: a balancer's port is whatever is free, and upstreams are ports there. */
function loopbackNet(): BalancerNet & { readonly ports: Promise<number> } {
  const port = Promise.withResolvers<number>();
  return {
    ports: port.promise,
    listen: () => {
      const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
      port.resolve(listener.port);
      return Promise.resolve(listener);
    },
    dial: (_address, to, { signal }) =>
      dialTcp({ hostname: "127.0.0.1", port: to, ...(signal === undefined ? {} : { signal }) }),
  };
}

interface Upstream {
  readonly name: string;
  readonly listener: StreamListener;
}

/** Says its name to everyone who connects, and then what it is told. */
function startUpstream(name: string, port = 0): Upstream {
  const listener = listenTcp({ hostname: "127.0.0.1", port });
  void (async () => {
    for await (const { stream } of listener) void greet(stream, name).catch(() => {});
  })();
  return { name, listener };
}

async function greet(stream: ByteStream, name: string): Promise<void> {
  await stream.write(new TextEncoder().encode(name));
  const buffer = new Uint8Array(100);
  const count = await stream.read(buffer);
  if (count !== null) await stream.write(buffer.subarray(0, count));
  stream.close();
}

/** The name of the upstream behind a new connection; empty when it is closed at once. */
async function ask(port: number): Promise<string> {
  const stream = await dialTcp({ hostname: "127.0.0.1", port });
  try {
    const buffer = new Uint8Array(100);
    const count = await stream.read(buffer);
    if (count === null) return "";
    await stream.write(new TextEncoder().encode("echo"));
    strictEqual(await stream.read(new Uint8Array(100)), 4);
    return new TextDecoder().decode(buffer.subarray(0, count));
  } finally {
    stream.close();
  }
}

async function until(holds: () => boolean): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!holds()) {
    if (Date.now() > deadline) throw new Error("Not within the deadline");
    await systemClock.sleep(5);
  }
}

function startBalancers(net: BalancerNet): Balancers {
  const probes = { probeEveryMs: 20, probeDownEveryMs: 20 };
  return createBalancers({ net, clock: systemClock, log: silentLogger, ...probes });
}

Deno.test("createBalancers() takes healthy upstreams in turn and leaves out those that fail", async () => {
  const net = loopbackNet();
  const balancers = startBalancers(net);
  const [a, b] = [startUpstream("a"), startUpstream("b")];
  const upstreams = [a, b].map(({ listener }) => `[::1]:${listener.port}`);
  balancers.put("c", { port: 10_000, upstreams });
  const port = await net.ports;
  await until(() => balancers.health("c").healthy);
  const answers = new Set<string>();
  // Both have been probed once they have both answered.
  await untilAsync(async () => {
    answers.add(await ask(port));
    return answers.size === 2;
  });
  deepStrictEqual([...answers].sort(), ["a", "b"]);

  a.listener.close();
  strictEqual(await ask(port), "b");
  strictEqual(await ask(port), "b");
  b.listener.close();
  await until(() => !balancers.health("c").healthy);
  strictEqual(await ask(port), "");
  deepStrictEqual(balancers.health("c"), { stopped: false, healthy: false });

  // An upstream that is back is found again.
  const again = startUpstream("again", b.listener.port);
  await until(() => balancers.health("c").healthy);
  strictEqual(await ask(port), "again");
  again.listener.close();
  balancers.close();
  deepStrictEqual(balancers.health("c"), { stopped: true, healthy: false });
});

async function untilAsync(holds: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error("Not within the deadline");
  }
}

Deno.test("createBalancers() ends the connections of a balancer that is removed", async () => {
  const net = loopbackNet();
  const balancers = startBalancers(net);
  const upstream = startUpstream("a");
  balancers.put("c", { port: 10_000, upstreams: [`127.0.0.1:${upstream.listener.port}`] });
  const port = await net.ports;
  await until(() => balancers.health("c").healthy);
  const stream = await dialTcp({ hostname: "127.0.0.1", port });
  strictEqual(await stream.read(new Uint8Array(1)), 1);
  balancers.remove("c");
  strictEqual(await stream.read(new Uint8Array(100)).catch(() => null), null);
  stream.close();
  upstream.listener.close();
});

Deno.test("createBalancers() tries again to listen on a port that is taken", async () => {
  const net = loopbackNet();
  let refusals = 1;
  const balancers = createBalancers({
    net: {
      ...net,
      listen: (port) => refusals-- > 0 ? Promise.reject(new Error("taken")) : net.listen(port),
    },
    // The pause before another attempt is a second: the test does not wait for it.
    clock: { nowMs: systemClock.nowMs, sleep: (_ms, signal) => systemClock.sleep(1, signal) },
    log: silentLogger,
  });
  balancers.put("c", { port: 10_000, upstreams: [] });
  await until(() => !balancers.health("c").stopped);
  balancers.close();
});

Deno.test("a balancer that is removed while its port opens does not keep the port", async () => {
  const opening = Promise.withResolvers<StreamListener>();
  const net = { ...loopbackNet(), listen: () => opening.promise };
  const balancers = createBalancers({ net, clock: systemClock, log: silentLogger });
  balancers.put("c", { port: 1, upstreams: [] });
  balancers.remove("c");
  const listener = listenTcp({ hostname: "127.0.0.1", port: 0 });
  const closed = Promise.withResolvers<void>();
  opening.resolve({
    port: listener.port,
    close: () => {
      listener.close();
      closed.resolve();
    },
    [Symbol.asyncIterator]: () => listener[Symbol.asyncIterator](),
  });
  await closed.promise;
  balancers.close();
});
