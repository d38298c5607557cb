// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { IPV6_HEADER_SIZE } from "./ipv6.ts";
import {
  ACK,
  optionsSize,
  parseTcp,
  PSH,
  seqAdd,
  seqDiff,
  TCP_HEADER_SIZE,
  type TcpOptions,
  writeTcpHeader,
} from "./tcp_segment.ts";

function roundTrip(options: TcpOptions, payload: Uint8Array): void {
  const size = IPV6_HEADER_SIZE + TCP_HEADER_SIZE + optionsSize(options) + payload.length;
  const packet = new Uint8Array(size);
  const header = {
    sourcePort: 65_535,
    destinationPort: 1,
    seq: 0xffff_ffff,
    ack: 0x8000_0000,
    flags: ACK | PSH,
    window: 0xffff,
    options,
  };
  packet.set(payload, writeTcpHeader(packet, header));
  assert.deepEqual(parseTcp(packet), { ...header, payload });
}

Deno.test("parseTcp() reads what writeTcpHeader() wrote", () => {
  roundTrip({}, new Uint8Array(0));
  roundTrip({ mss: 1220, windowScale: 7, isSackPermitted: true }, new Uint8Array([1, 2, 3]));
  const sacks = [{ start: 0xffff_fff0, end: 5 }, { start: 10, end: 20 }, { start: 30, end: 40 }];
  roundTrip({ timestamps: { value: 0xffff_ffff, echo: 0 }, sacks }, new Uint8Array(100));
});

Deno.test("parseTcp() refuses headers and options that reach beyond the packet", () => {
  const packet = new Uint8Array(IPV6_HEADER_SIZE + 24);
  assert.equal(parseTcp(packet.subarray(0, IPV6_HEADER_SIZE + 19)), undefined);
  packet[IPV6_HEADER_SIZE + 12] = 0x40;
  assert.equal(parseTcp(packet), undefined);
  packet[IPV6_HEADER_SIZE + 12] = 0x70;
  assert.equal(parseTcp(packet), undefined);
  packet[IPV6_HEADER_SIZE + 12] = 0x60;
  for (const options of [[8, 10, 0, 0], [2, 0, 0, 0], [2, 1, 0, 0], [1, 1, 1, 2]]) {
    packet.set(options, IPV6_HEADER_SIZE + 20);
    assert.equal(parseTcp(packet), undefined, String(options));
  }
  packet.set([1, 0, 99, 99], IPV6_HEADER_SIZE + 20);
  assert.deepEqual(parseTcp(packet)?.options, {});
});

Deno.test("seqDiff() is right where numbers begin again", () => {
  assert.equal(seqDiff(5, 0xffff_fffb), 10);
  assert.equal(seqDiff(0xffff_fffb, 5), -10);
  assert.equal(seqAdd(0xffff_ffff, 2), 1);
  assert.equal(seqAdd(0, -1), 0xffff_ffff);
});
