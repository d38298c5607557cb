// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import {
  addressKey,
  canonicalIpv6,
  formatIpv6,
  ipv6Bytes,
  isTunnelAddress,
  isVirtualAddress,
  parseIpv4,
  parseIpv6,
  randomNodeAddress,
  randomVirtualAddress,
  SERVER_ADDRESS,
} from "./addresses.ts";

Deno.test("canonicalIpv6() writes addresses as RFC 5952 says", () => {
  const cases: readonly (readonly [string, string])[] = [
    ["FDAE:41E4:649B:9303:0:0:0:1", SERVER_ADDRESS],
    ["fdae:41e4:649b:9303::1/64", SERVER_ADDRESS],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["2001:0:0:1:0:0:0:1", "2001:0:0:1::1"],
    ["2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["::ffff:1.2.3.4", "::ffff:102:304"],
  ];
  for (const [text, canonical] of cases) assert.equal(canonicalIpv6(text), canonical, text);
});

Deno.test("parseIpv6() refuses what is no address", () => {
  const texts = ["", ":", ":::", "1:2:3", "1::2::3", "12345::", "g::", "1:2:3:4:5:6:7:8:9"];
  for (const text of [...texts, "1:2:3:4:5:6:7::8", "::1.2.3", "1.2.3.4", "::1%lo", "::1 "]) {
    assert.equal(parseIpv6(text), undefined, text);
  }
  assert.equal(parseIpv4("1.2.3.256"), undefined);
  assert.equal(parseIpv4("01.2.3.4"), undefined);
});

Deno.test("randomNodeAddress() stays in its prefix and never is the server", () => {
  let calls = 0;
  const random = (size: number): Uint8Array => {
    const bytes = new Uint8Array(size);
    bytes[7] = 1;
    if (calls++ > 0) bytes[0] = 0x80;
    return bytes;
  };
  assert.equal(randomNodeAddress(random), "fdae:41e4:649b:9303:8000::1");
  assert.equal(calls, 2);
  assert.ok(isTunnelAddress(ipv6Bytes(randomNodeAddress())));
  assert.ok(isVirtualAddress(ipv6Bytes(randomVirtualAddress())));
  assert.ok(!isTunnelAddress(ipv6Bytes(randomVirtualAddress())));
});

Deno.test("addressKey() is the same exactly for the same address", () => {
  const bytes = ipv6Bytes(SERVER_ADDRESS);
  const shifted = new Uint8Array([0, 0, 0, ...bytes]);
  assert.equal(addressKey(bytes), addressKey(shifted, 3));
  bytes[15] = 2;
  assert.notEqual(addressKey(bytes), addressKey(shifted, 3));
  assert.equal(formatIpv6(bytes), "fdae:41e4:649b:9303::2");
});
