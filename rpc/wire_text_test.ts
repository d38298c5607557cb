// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { CodedError } from "../base/errors.ts";
import { Metadata } from "./metadata.ts";
import {
  Code,
  decodeStatusMessage,
  encodeStatusMessage,
  errorCodeOfStatus,
  statusOfError,
  statusOfErrorCode,
  statusOfHttp,
  statusOfReset,
} from "./status.ts";
import { formatTimeout, parseTimeout } from "./timeouts.ts";

Deno.test("parseTimeout() reads every unit and refuses the rest", () => {
  const cases: [string | undefined, number | undefined][] = [
    [undefined, undefined],
    ["2H", 7_200_000],
    ["3M", 180_000],
    ["4S", 4000],
    ["5m", 5],
    ["6000u", 6],
    ["7000000n", 7],
    ["0m", 0],
    ["", NaN],
    ["5", NaN],
    ["m", NaN],
    ["-5m", NaN],
    ["123456789m", NaN],
  ];
  for (const [text, expected] of cases) {
    const parsed = parseTimeout(text);
    if (expected === undefined || Number.isNaN(expected)) assert.equal(parsed, expected, `${text}`);
    else assert.ok(Math.abs((parsed ?? NaN) - expected) < 1e-6, `${text}`);
  }
});

Deno.test("formatTimeout() never shortens a time and stays within eight digits", () => {
  for (const ms of [0, 0.001, 1, 999.5, 99_999, 100_000, 1e7, 99_999_999, 1e9, 1e12]) {
    const text = formatTimeout(ms);
    assert.match(text, /^[0-9]{1,8}[umS]$/);
    if (ms < 99_999_999_000) assert.ok((parseTimeout(text) ?? 0) >= ms, text);
  }
});

Deno.test("encodeStatusMessage() and decodeStatusMessage() undo each other", () => {
  for (const text of ["", "plain", "100 %", "\t\nü☺😈\r\n", "%41"]) {
    const encoded = encodeStatusMessage(text);
    assert.match(encoded, /^[ -~]*$/);
    assert.equal(decodeStatusMessage(encoded), text);
  }
  assert.equal(decodeStatusMessage("%zz %4"), "%zz %4");
});

Deno.test("statusOfErrorCode() and errorCodeOfStatus() keep every code of the protocol", () => {
  for (let status = 1; status <= 16; status++) {
    assert.equal(statusOfErrorCode(errorCodeOfStatus(status)), status);
  }
  assert.equal(errorCodeOfStatus(99), "unknown");
  assert.equal(statusOfErrorCode("conflict"), Code.FailedPrecondition);
  assert.equal(statusOfErrorCode("ownerConflict"), Code.PermissionDenied);
  assert.equal(statusOfErrorCode("phaseConflict"), Code.FailedPrecondition);
  assert.equal(statusOfErrorCode("unsupported"), Code.Unimplemented);
  assert.equal(statusOfError(new CodedError("notFound", "x")), Code.NotFound);
  assert.equal(statusOfError(new Error("x")), undefined);
});

Deno.test("statusOfHttp() and statusOfReset() map as the protocol text does", () => {
  const http = [[400, 13], [401, 16], [403, 7], [404, 12], [429, 14], [502, 14], [503, 14], [
    200,
    2,
  ]];
  for (const [from, to] of http) assert.equal(statusOfHttp(from ?? 0), to);
  const reset = [[0, 13], [1, 13], [2, 13], [7, 14], [8, 1], [11, 8], [12, 7]];
  for (const [from, to] of reset) assert.equal(statusOfReset(from ?? 0), to);
});

Deno.test("Metadata keeps text and bytes apart and hides what is the protocol's", () => {
  const metadata = Metadata.from({
    "X-Text": "value",
    "x-many": ["1", "2"],
    "x-bytes-bin": Uint8Array.of(0, 255, 1),
  });
  const received = new Metadata([...metadata.toFields(), "te", "trailers", "grpc-timeout", "1S"]);
  assert.deepEqual([...received.keys()], ["x-text", "x-many", "x-bytes-bin"]);
  assert.equal(received.text("X-TEXT"), "value");
  assert.deepEqual(received.getAll("x-many"), ["1", "2"]);
  assert.deepEqual(received.binary("x-bytes-bin"), Uint8Array.of(0, 255, 1));
  assert.equal(received.text("x-bytes-bin"), undefined);
  const joined = new Metadata(["a-bin", "AQ==,Ag"]);
  assert.deepEqual(joined.getAll("a-bin"), [Uint8Array.of(1), Uint8Array.of(2)]);
});

Deno.test("Metadata.from() refuses what cannot be sent", () => {
  const bad: Record<string, string | Uint8Array>[] = [
    { "bad key": "x" },
    { "te": "x" },
    { ":path": "x" },
    { "x": "line\nbreak" },
    { "x": "ü" },
    { "x": Uint8Array.of(1) },
    { "x-bin": "text" },
  ];
  for (const init of bad) assert.throws(() => Metadata.from(init), TypeError);
});
