// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { formatHostPort, parseHostPort, parseJoinUrl, parseKernelArgs } from "./kernel_args.ts";

Deno.test("parseKernelArgs() reads what concerns the server and skips the rest", () => {
  const args = parseKernelArgs(
    "console=ttyS0 siderolink.api=grpc://10.0.0.1:8090?jointoken=a%3Db quiet " +
      "talos.events.sink=[fdae:41e4:649b:9303::1]:8091 " +
      "talos.logging.kernel=tcp://[fdae:41e4:649b:9303::1]:8092",
  );
  assert.deepEqual(args, {
    join: { host: "10.0.0.1", port: 8090, tls: false, joinToken: "a=b", overGrpc: false },
    eventSink: { host: "fdae:41e4:649b:9303::1", port: 8091 },
    kernelLog: { host: "fdae:41e4:649b:9303::1", port: 8092 },
  });
  assert.deepEqual(parseKernelArgs("console=ttyS0 quiet"), {});
});

Deno.test("parseJoinUrl() knows schemes, default port and tunnel mode", () => {
  const tls = parseJoinUrl("https://batuta.example.org?jointoken=t&grpc_tunnel=true");
  assert.deepEqual(tls, {
    host: "batuta.example.org",
    port: 443,
    tls: true,
    joinToken: "t",
    overGrpc: true,
  });
  assert.equal(parseJoinUrl("[::1]:8090").host, "::1");
  assert.throws(() => parseJoinUrl("tcp://h:1"), /scheme must be "grpc" or "https".*"tcp"/);
});

Deno.test("parseHostPort() refuses what has no host or no port", () => {
  for (const text of ["host", ":1", "host:0", "host:70000", "fe80::1:1", "[::1]"]) {
    assert.throws(() => parseHostPort(text, "talos.events.sink"), /talos\.events\.sink/, text);
  }
  assert.equal(formatHostPort(parseHostPort("[::1]:5", "x")), "[::1]:5");
});
