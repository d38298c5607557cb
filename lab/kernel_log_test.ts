// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { systemClock } from "../base/clock.ts";
import { CodedError } from "../base/errors.ts";
import type { ByteStream } from "../rpc/stream.ts";
import {
  createKernelLog,
  encodeKernelLine,
  formatKernelLine,
  sendKernelLog,
} from "./kernel_log.ts";
import { createSignal } from "./signal.ts";

Deno.test("encodeKernelLine() writes one JSON object with the fields of the wire", () => {
  let now = 1_700_000_000_000;
  const log = createKernelLog(() => now);
  now += 1_500;
  log.write("warn", 'a "quoted" line', "kern");
  const [line] = log.lines();
  assert.ok(line);
  const text = encodeKernelLine(line);
  assert.equal(text.endsWith("}\n"), true);
  assert.deepEqual(JSON.parse(text), {
    msg: 'a "quoted" line',
    "talos-time": "2023-11-14T22:13:21.500Z",
    "talos-level": "warn",
    facility: "kern",
    seq: 0,
    clock: 1_500_000,
    priority: "warning",
  });
  assert.equal(formatKernelLine(line), 'kern: warn: [1.500000]: a "quoted" line\n');
});

Deno.test("createKernelLog() keeps the newest lines", () => {
  const log = createKernelLog(() => 0);
  for (let index = 0; index < 600; index++) log.write("info", String(index));
  assert.equal(log.lines().length, 500);
  assert.equal(log.lines()[0]?.seq, 100);
});

Deno.test("sendKernelLog() sends every line again that a broken connection did not take", async () => {
  const log = createKernelLog(() => 0);
  const received: string[] = [];
  const arrived = createSignal();
  const stop = new AbortController();
  let dials = 0;
  const stream = (isBroken: boolean): ByteStream => ({
    read: () => Promise.resolve(null),
    write: (data) => {
      if (isBroken && received.length > 0) {
        return Promise.reject(new CodedError("unavailable", "the connection is gone"));
      }
      received.push(new TextDecoder().decode(data));
      arrived.fire();
      return Promise.resolve(data.length);
    },
    closeWrite: () => Promise.resolve(),
    close: () => {},
  });
  for (const text of ["one", "two", "three"]) log.write("info", text);
  const sending = sendKernelLog({
    log,
    dial: () => Promise.resolve(stream(++dials === 1)),
    clock: { ...systemClock, sleep: (_, signal) => systemClock.sleep(1, signal) },
    signal: stop.signal,
  });
  await arrived.until(() => received.length === 3, AbortSignal.timeout(5_000));
  stop.abort();
  await sending;
  assert.deepEqual(received.map((line) => JSON.parse(line).msg), ["one", "two", "three"]);
  assert.equal(dials, 2);
});
