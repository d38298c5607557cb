// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf } from "../../base/errors.ts";
import { type Libc, openLibc } from "../libc.ts";
import { getFamily, readFamily } from "./genetlink.ts";
import { lockInterface } from "./interface_lock.ts";
import { DUMP } from "./netlink.ts";
import { NETLINK_GENERIC, NETLINK_ROUTE, openNetlink } from "./netlink_socket.ts";
import { findLink, readLink } from "./rtnetlink.ts";

const isLinux = Deno.build.os === "linux";
const note = isLinux ? "" : " (skipped: needs Linux)";

function test(name: string, fn: (libc: Libc) => void): void {
  Deno.test({
    name: `${name}${note}`,
    ignore: !isLinux,
    fn: () => {
      const libc = openLibc();
      try {
        fn(libc);
      } finally {
        libc.close();
      }
    },
  });
}

test("NetlinkSocket.call() finds an interface of this machine", (libc) => {
  const socket = openNetlink(libc, NETLINK_ROUTE);
  const { errno, messages } = socket.call(findLink("lo"));
  assert.equal(errno, 0);
  const [message] = messages;
  assert.ok(message !== undefined);
  const link = readLink(message.payload);
  const read = (name: string): string => Deno.readTextFileSync(`/sys/class/net/lo/${name}`).trim();
  assert.equal(link.name, "lo");
  assert.equal(String(link.index), read("ifindex"));
  assert.equal(String(link.mtu), read("mtu"));
  socket.close();
});

test("NetlinkSocket.call() takes lists and refusals, one after the other", (libc) => {
  const socket = openNetlink(libc, NETLINK_ROUTE);
  for (let i = 0; i < 3; i++) {
    assert.equal(socket.call(findLink(`no-such-${i}`)).errno, 19);
    const list = socket.call({ type: 18, flags: DUMP, payload: new Uint8Array(16) });
    assert.equal(list.errno, 0);
    assert.ok(list.messages.some(({ payload }) => readLink(payload).name === "lo"));
  }
  socket.close();
  assert.throws(() => socket.call(findLink("lo")), (error) => codeOf(error) === "unavailable");
});

test("NetlinkSocket.call() finds a family, and clears what it sent", (libc) => {
  const socket = openNetlink(libc, NETLINK_GENERIC);
  const request = getFamily("nlctrl");
  const { messages } = socket.call(request);
  assert.deepEqual(messages.map(({ payload }) => readFamily(payload)), [16]);
  assert.ok(request.payload.every((byte) => byte === 0));
  assert.equal(socket.call(getFamily("no-such")).errno, 2);
  socket.close();
});

test("lockInterface() gives an interface to one holder at a time", (libc) => {
  const name = `test-${Deno.pid}`;
  const first = lockInterface(libc, name);
  assert.ok(first !== undefined);
  assert.equal(lockInterface(libc, name), undefined);
  const other = lockInterface(libc, `${name}x`);
  assert.ok(other !== undefined);
  libc.symbols.close(first);
  const again = lockInterface(libc, name);
  assert.ok(again !== undefined);
  for (const fd of [other, again]) libc.symbols.close(fd);
});
