// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { ipv6Bytes, SERVER_ADDRESS } from "../addresses.ts";
import { createInnerFilter } from "../inner_filter.ts";
import { innerPacket } from "../testing_packets.ts";
import { onlyTo } from "./ingress_filter.ts";

const IPV6 = 0x86dd;
const IPV4 = 0x0800;
const ACCEPT = 0;
const DROP = 2;

/** Runs the few instructions of classic BPF that the filter has. */
function verdict(program: Uint8Array, protocol: number, packet: Uint8Array): number {
  const view = new DataView(program.buffer, program.byteOffset);
  const data = new DataView(packet.buffer, packet.byteOffset);
  let accumulator = 0;
  for (let at = 0; at < program.length; at += 8) {
    const code = view.getUint16(at, true);
    const value = view.getUint32(at + 4, true);
    const offset = value - 0xfff00000;
    if (code === 0x28 && value === 0xfffff000) accumulator = protocol;
    else if (code === 0x28) accumulator = data.getUint16(offset);
    else if (code === 0x20) accumulator = data.getUint32(offset);
    else if (code === 0x30) accumulator = data.getUint8(offset);
    else if (code === 0x54) accumulator &= value;
    else if (code === 0x25) at += 8 * view.getUint8(accumulator > value ? at + 2 : at + 3);
    else if (code === 0x35) at += 8 * view.getUint8(accumulator >= value ? at + 2 : at + 3);
    else if (code === 0x15) at += 8 * view.getUint8(accumulator === value ? at + 2 : at + 3);
    else if (code === 0x06) return value;
    else assert.fail(`Unknown instruction ${code}`);
  }
  return assert.fail("The program has no end");
}

Deno.test("onlyTo() lets one destination through", () => {
  const program = onlyTo(ipv6Bytes(SERVER_ADDRESS));
  assert.equal(verdict(program, IPV6, innerPacket({ protocol: 17 })), ACCEPT);
  assert.equal(verdict(program, IPV4, innerPacket({})), DROP);
  for (
    const destination of [
      "fdae:41e4:649b:9303::2",
      "fdae:41e4:649b:9303:1::1",
      "fdae:41e4:649b:9304::1",
      "fdae:41e5:649b:9303::1",
      "::1",
      "ff02::1",
    ]
  ) assert.equal(verdict(program, IPV6, innerPacket({ destination })), DROP, destination);
});

Deno.test("onlyTo() decides about ports as the filter of a TUN interface does", () => {
  const ports = [
    { first: 8091, last: 8092 },
    { first: 10_000, last: 35_000 },
    { first: 50_001, last: 50_001 },
  ];
  const program = onlyTo(ipv6Bytes(SERVER_ADDRESS), ports);
  const mayEnter = createInnerFilter(ports);
  for (const protocol of [0, 6, 17, 43, 44, 50, 58, 60]) {
    for (const port of [0, 22, 8090, 8092, 8093, 9999, 10_000, 35_000, 35_001, 50_001, 65_535]) {
      for (let flags = 0; flags < 256; flags++) {
        const packet = innerPacket({ protocol, port, flags });
        const expected = mayEnter(packet) ? ACCEPT : DROP;
        assert.equal(verdict(program, IPV6, packet), expected, `${protocol} ${port} ${flags}`);
      }
    }
  }
  const elsewhere = innerPacket({ port: 8091, flags: 2, destination: "fdae:41e4:649b:9303::2" });
  assert.equal(verdict(program, IPV6, elsewhere), DROP);
});
