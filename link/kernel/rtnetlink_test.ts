// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { ipv6Bytes } from "../addresses.ts";
import { encodeRequest, type NetlinkRequest } from "./netlink.ts";
import {
  addAddress,
  addFilterPlace,
  addIngressFilter,
  bringUp,
  createLink,
  deleteLink,
  readLink,
  setAlias,
} from "./rtnetlink.ts";

const ADDRESS = "fdae:41e4:649b:9303::1";

function instruction(code: number, value: number): Uint8Array {
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, code, true);
  view.setUint32(4, value, true);
  return bytes;
}

/** What `ip` and `tc` of iproute2 6.1 send, as `strace` shows it: type, flags and payload. */
const VECTORS: readonly (readonly [string, NetlinkRequest, number, number, string])[] = [
  [
    "ip link add siderolink type wireguard",
    createLink("siderolink", "wireguard"),
    16,
    0x605,
    "000000000000000000000000000000000f00030073696465726f6c696e6b0000140012000d000100776972656775617264000000",
  ],
  [
    "ip link set siderolink alias batuta",
    setAlias(2, "batuta"),
    16,
    0x005,
    "000000000200000000000000000000000a0014006261747574610000",
  ],
  [
    "ip link set siderolink mtu 1280 up",
    bringUp(2, 1280),
    16,
    0x005,
    "000000000200000001000000010000000800040000050000",
  ],
  [
    "ip addr add fdae:41e4:649b:9303::1/64 dev siderolink nodad",
    addAddress(2, ipv6Bytes(ADDRESS), 64),
    20,
    0x605,
    "0a40020002000000" +
    "14000200fdae41e4649b93030000000000000001" +
    "14000100fdae41e4649b93030000000000000001",
  ],
  [
    "tc qdisc add dev siderolink clsact",
    addFilterPlace(2),
    36,
    0x605,
    "00000000020000000000fffff1ffffff000000000b000100636c736163740000",
  ],
  [
    'tc filter add dev siderolink ingress protocol all prio 1 bpf da bytecode "2,32 0 0 …,6 0 0 2"',
    addIngressFilter(
      2,
      Uint8Array.of(...instruction(32, 4294963224), ...instruction(6, 2)),
    ),
    44,
    0x605,
    "000000000200000000000000f2ffffff00030100" +
    "0800010062706600" +
    "28000200" + "0600040002000000" +
    "140005002000000018f0ffff0600000002000000" +
    "0800080001000000",
  ],
  [
    "ip link del siderolink",
    deleteLink(2),
    17,
    0x005,
    "00000000020000000000000000000000",
  ],
];

for (const [command, request, type, flags, payload] of VECTORS) {
  Deno.test(`a request equals that of "${command}"`, () => {
    const bytes = encodeRequest(request, 7);
    const view = new DataView(bytes.buffer);
    assert.equal(bytes.subarray(16).toHex(), payload);
    assert.equal(view.getUint32(0, true), bytes.length);
    assert.equal(view.getUint16(4, true), type);
    assert.equal(view.getUint16(6, true), flags);
    assert.equal(view.getUint32(8, true), 7);
    assert.equal(view.getUint32(12, true), 0);
  });
}

Deno.test("readLink() reads what Linux 6.1 says of a WireGuard interface", () => {
  // Without its map, its statistics and what the families of addresses add.
  const payload = Uint8Array.fromHex(
    "0000feff02000000d1000100000000000f00030073696465726f6c696e6b000008000d00e803000005001000" +
      "0000000005001100000000000800040000050000080032000000000008003300a0ffff7f08001b0000000000" +
      "08001e000000000008003d000000000008001f000100000008002800ffff0000080029000000010008003a00" +
      "0000010008003b000000010008003c00ffff0000080020000100000005002100010000000c0006006e6f7175" +
      "657565000b0014006261747574610000080023000000000008002f0000000000080030000000000005002700" +
      "000000000c002b000500020000000000140012000e000100776972656775617264000000",
  );
  assert.deepEqual(readLink(payload), {
    index: 2,
    name: "siderolink",
    kind: "wireguard",
    alias: "batuta",
    isUp: true,
    mtu: 1280,
  });
});
