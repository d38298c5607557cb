// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { codeOf } from "../../base/errors.ts";
import { ipv6Bytes } from "../addresses.ts";
import { seededRandom } from "../testing.ts";
import { getFamily, readFamily } from "./genetlink.ts";
import {
  attribute,
  concat,
  encodeRequest,
  type NetlinkRequest,
  readAttributes,
  readMessages,
  uint16,
} from "./netlink.ts";
import { refusal } from "./refusal.ts";
import { readLink } from "./rtnetlink.ts";
import { encodeSocketAddress, readSocketAddress } from "./socket_address.ts";
import {
  getDevice,
  readDevice,
  removePeer,
  removePeers,
  setDevice,
  setPeer,
} from "./wireguard_messages.ts";

const FAMILY = 0x20;
const INDEX = 2;
const PUBLIC_KEY = Uint8Array.fromBase64("xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=");
const PRIVATE_KEY = Uint8Array.fromBase64("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=");

/** The tool names the interface, we number it. */
const BY_NAME = "0f00020073696465726f6c696e6b0000";
const BY_INDEX = "0800010002000000";

/** What `wg` 1.0.20210914 sends, as `strace` shows it. */
const VECTORS: readonly (readonly [string, NetlinkRequest, string])[] = [
  [
    "wg set siderolink private-key … listen-port 50180",
    setDevice(FAMILY, INDEX, { privateKey: PRIVATE_KEY, port: 50180 }),
    "01010000" + BY_NAME +
    "24000300" + "0000000000000000000000000000000000000000000000000000000000000001" +
    "0600060004c40000",
  ],
  [
    "wg set siderolink peer … allowed-ips … endpoint 192.0.2.7:51820 persistent-keepalive 25",
    setPeer(FAMILY, INDEX, {
      publicKey: PUBLIC_KEY,
      endpoint: { hostname: "192.0.2.7", port: 51820 },
      keepaliveSeconds: 25,
      allowedIp: ipv6Bytes("fdae:41e4:649b:9303::5"),
    }),
    "01010000" + BY_NAME + "7c00088078000080" +
    "24000100c53201039adba14be71f886da1d8dbe9eebded08cb111b75340078999aa9f038" +
    "140004000200ca6cc00002070000000000000000" + "0600050019000000" + "0800030002000000" +
    "2c000980280000800600" + "01000a000000" +
    "14000200fdae41e4649b93030000000000000005" + "0500030080000000",
  ],
  [
    "wg set siderolink peer … endpoint [2001:db8::9]:1234",
    setPeer(FAMILY, INDEX, {
      publicKey: PUBLIC_KEY,
      endpoint: { hostname: "2001:db8::9", port: 1234 },
    }),
    "01010000" + BY_NAME + "4c00088048000080" +
    "24000100c53201039adba14be71f886da1d8dbe9eebded08cb111b75340078999aa9f038" +
    "200004000a0004d20000000020010db800000000000000000000000900000000",
  ],
  [
    "wg set siderolink peer … remove",
    removePeer(FAMILY, INDEX, PUBLIC_KEY),
    "01010000" + BY_NAME + "3400088030000080" +
    "24000100c53201039adba14be71f886da1d8dbe9eebded08cb111b75340078999aa9f038" +
    "0800030001000000",
  ],
  ["wg show siderolink", getDevice(FAMILY, INDEX), "00010000" + BY_NAME],
  [
    "the look-up of the family",
    getFamily("wireguard"),
    "030100000e000200776972656775617264000000",
  ],
];

for (const [command, request, payload] of VECTORS) {
  Deno.test(`a request equals that of "${command}"`, () => {
    const bytes = encodeRequest(request, 1);
    assert.equal(bytes.subarray(16).toHex(), payload.replace(BY_NAME, BY_INDEX));
  });
}

/** The answer of Linux 6.1 to `wg show`, for an interface with one peer that never came. */
const DEVICE = "000100000600060004c40000080007000000000008000100020000000f000200" +
  "73696465726f6c696e6b00002400030000000000000000000000000000000000000000000000000000000000" +
  "0000004124000400fd3384e132ad02a56c78f45547ee40038dc79002b90d29ed90e08eee762ae715d8000880d4000080" +
  "24000100c53201039adba14be71f886da1d8dbe9eebded08cb111b75340078999aa9f03824000200" +
  "0000000000000000000000000000000000000000000000000000000000000000" +
  "14000600000000000000000000000000000000000600050019000000" +
  "0c00080000000000000000000c000700000000000000000008000a0001000000" +
  "200004000a0004d20000000020010db800000000000000000000000900000000" +
  "2c000980280000800500030080000000060001000a00000014000200fdae41e4649b93030000000000000005";

/** Its answer to the look-up of the family. */
const FAMILY_ANSWER = "010200000e0002007769726567756172640000000600010020000000" +
  "08000300010000000800040000000000080005000800000" +
  "02c000600140001000800010000000000080002001c0000001400020008000100010000000800" +
  "02001a000000";

Deno.test("readDevice() reads what Linux says", () => {
  const report = readDevice(Uint8Array.fromHex(DEVICE));
  assert.equal(report.listenPort, 50180);
  assert.equal(report.publicKey?.toBase64(), "/TOE4TKtAqVsePRVR+5AA43HkAK5DSntkOCO7nYq5xU=");
  assert.deepEqual(report.peers, [{
    publicKey: PUBLIC_KEY,
    endpoint: { hostname: "2001:db8::9", port: 1234 },
    lastHandshakeMs: 0,
    receivedBytes: 0,
    sentBytes: 0,
  }]);
});

Deno.test("readFamily() reads what Linux says", () => {
  assert.equal(readFamily(Uint8Array.fromHex(FAMILY_ANSWER)), 0x20);
});

Deno.test("readDevice() reads figures, and the second part of a peer without any", () => {
  const time = new Uint8Array(16);
  const view = new DataView(time.buffer);
  view.setBigInt64(0, 1_796_010_126n, true);
  view.setBigInt64(8, 123_456_789n, true);
  const count = (value: bigint): Uint8Array => new Uint8Array(new BigUint64Array([value]).buffer);
  const peers = attribute(
    8,
    attribute(
      0,
      attribute(1, PUBLIC_KEY),
      attribute(4, encodeSocketAddress({ hostname: "192.0.2.7", port: 1 })),
      attribute(6, time),
      attribute(7, count(2n ** 40n)),
      attribute(8, count(5n)),
    ),
    attribute(0, attribute(1, PUBLIC_KEY), attribute(9, attribute(0))),
  );
  assert.deepEqual(readDevice(concat(new Uint8Array(4), peers)).peers, [
    {
      publicKey: PUBLIC_KEY,
      endpoint: { hostname: "192.0.2.7", port: 1 },
      lastHandshakeMs: 1_796_010_126_123,
      receivedBytes: 2 ** 40,
      sentBytes: 5,
    },
    { publicKey: PUBLIC_KEY },
  ]);
});

Deno.test("encodeSocketAddress() and readSocketAddress() are each other's opposite", () => {
  for (const hostname of ["192.0.2.7", "255.255.255.255", "2001:db8::9", "::"]) {
    for (const port of [1, 50180, 65535]) {
      const endpoint = { hostname, port };
      assert.deepEqual(readSocketAddress(encodeSocketAddress(endpoint)), endpoint);
    }
  }
  assert.throws(
    () => encodeSocketAddress({ hostname: "a.example", port: 1 }),
    (error) => codeOf(error) === "invalidArgument" && /a\.example:1/.test(String(error)),
  );
});

Deno.test("removePeers() puts none in the place of all", () => {
  const { type, payload } = removePeers(FAMILY, INDEX);
  assert.equal(type, FAMILY);
  assert.equal(payload.toHex(), "01010000" + BY_INDEX + "0800050001000000");
});

Deno.test("attribute() refuses what its 16 bits of length cannot say", () => {
  assert.equal(attribute(1, new Uint8Array(65_531)).length, 65_536);
  assert.throws(
    () => attribute(1, new Uint8Array(65_532)),
    (error) => codeOf(error) === "outOfRange",
  );
});

/** The kernel's refusal of `ip link add x0 type nosuchkind`, with the request repeated. */
function refusalMessage(text: string, isCapped: boolean): Uint8Array {
  const request = encodeRequest({ type: 16, flags: 0, payload: new Uint8Array(44) }, 9);
  const error = new Uint8Array(new Int32Array([-95]).buffer);
  const body = concat(
    error,
    isCapped ? request.subarray(0, 16) : request,
    attribute(1, new TextEncoder().encode(`${text}\0`)),
  );
  const message = encodeRequest(
    { type: 2, flags: 0x200 | (isCapped ? 0x100 : 0), payload: body },
    9,
  );
  return message;
}

Deno.test("readMessages() reads why the kernel refuses", () => {
  for (const isCapped of [true, false]) {
    const [message] = readMessages(refusalMessage("Unknown device type", isCapped));
    assert.deepEqual(message?.end, { errno: 95, text: "Unknown device type" });
    assert.equal(message?.sequence, 9);
  }
  const [done] = readMessages(encodeRequest({ type: 3, flags: 2, payload: new Uint8Array(4) }, 9));
  assert.deepEqual(done?.end, { errno: 0, text: "" });
});

Deno.test("refusal() says what to do", () => {
  const said = (errno: number, step?: Parameters<typeof refusal>[2]): string =>
    refusal("do it", { errno, text: "" }, step).message;
  assert.match(said(95, "create"), /^Cannot do it: this kernel has no WireGuard: .*modprobe/);
  assert.match(said(1, "create"), /CAP_NET_ADMIN/);
  assert.match(said(98, "up"), /the UDP port is taken/);
  assert.match(said(2, "filter"), /sch_ingress/);
  assert.match(said(13, "address"), /disable_ipv6=0/);
  assert.equal(codeOf(refusal("do it", { errno: 5, text: "what" })), "internal");
  assert.equal(
    refusal("do it", { errno: 5, text: "what" }).message,
    'Cannot do it: "what", error 5',
  );
});

const INPUTS = Number(Deno.env.get("FUZZ_INPUTS") ?? 20_000);
const SEED = Number(Deno.env.get("BATUTA_SEED") ?? Date.now() % 1_000_000);

Deno.test(`readers of netlink refuse or read any bytes (BATUTA_SEED=${SEED})`, () => {
  const next = seededRandom(SEED);
  const below = (limit: number): number => Math.floor(next() * limit);
  const samples = [
    Uint8Array.fromHex(DEVICE),
    Uint8Array.fromHex(FAMILY_ANSWER),
    refusalMessage("Unknown device type", true),
    refusalMessage("Unknown device type", false),
    concat(uint16(65_535), uint16(1), new Uint8Array(8)),
  ];
  const readers = [
    readMessages,
    readAttributes,
    readDevice,
    readFamily,
    readLink,
    readSocketAddress,
  ];
  let refused = 0;
  let taken = 0;
  for (let i = 0; i < INPUTS; i++) {
    const sample = samples[below(samples.length)] ?? new Uint8Array();
    const bytes = below(8) === 0
      ? Uint8Array.from({ length: below(200) }, () => below(256))
      : sample.slice(0, below(4) === 0 ? below(sample.length + 1) : sample.length);
    for (let change = below(5); change > 0 && bytes.length > 0; change--) {
      bytes[below(bytes.length)] = below(256);
    }
    for (const read of readers) {
      try {
        read(bytes);
        taken++;
      } catch (error) {
        // Anything else would be a fault of the reader.
        assert.equal(codeOf(error), "internal", String(error));
        assert.match(String(error), /Cannot read netlink/);
        refused++;
      }
    }
  }
  assert.ok(refused > INPUTS && taken > INPUTS, `${refused} refused, ${taken} taken`);
});
