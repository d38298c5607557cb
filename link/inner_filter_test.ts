// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { createInnerFilter } from "./inner_filter.ts";
import { innerPacket } from "./testing_packets.ts";

Deno.test("createInnerFilter() lets machines open connections to the given ports only", () => {
  const mayPass = createInnerFilter([{ first: 8091, last: 8091 }, { first: 10_000, last: 50_001 }]);
  const cases: readonly (readonly [string, Uint8Array, boolean])[] = [
    ["SYN to an open port", innerPacket({ port: 8091, flags: 0x02 }), true],
    ["SYN with further flags to an open port", innerPacket({ port: 50_001, flags: 0xc2 }), true],
    ["SYN to the first port of a range", innerPacket({ port: 10_000, flags: 0x02 }), true],
    ["SYN behind a range", innerPacket({ port: 50_002, flags: 0x02 }), false],
    ["SYN to another port", innerPacket({ port: 22, flags: 0x02 }), false],
    ["SYN and FIN to another port", innerPacket({ port: 22, flags: 0x03 }), false],
    ["the answer to our SYN", innerPacket({ port: 40_000, flags: 0x12 }), true],
    ["data of a connection", innerPacket({ port: 40_000, flags: 0x18 }), true],
    ["reset of a connection", innerPacket({ port: 40_000, flags: 0x04 }), true],
    ["echo request", innerPacket({ protocol: 58 }), true],
    ["UDP", innerPacket({ protocol: 17, port: 8091 }), false],
    ["a fragment", innerPacket({ protocol: 44, port: 8091 }), false],
    ["a segment that is cut off", innerPacket({ port: 8091, flags: 0x10 }).subarray(0, 53), false],
  ];
  for (const [what, packet, expected] of cases) assert.equal(mayPass(packet), expected, what);
});
