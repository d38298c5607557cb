// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { parseFigure, renderTable } from "./bench.ts";

Deno.test("parseFigure() reads figures and nothing else", () => {
  deepStrictEqual(parseFigure('{"name":"join","value":1.5,"unit":"s","extra":1}'), {
    name: "join",
    value: 1.5,
    unit: "s",
  });
  for (const line of ["", "text", "{", '{"name":"a"}', '{"name":"a","value":"1","unit":"s"}']) {
    strictEqual(parseFigure(line), undefined);
  }
});

Deno.test("renderTable() aligns names and values", () => {
  deepStrictEqual(
    renderTable([
      { name: "time to join", value: 1.23456, unit: "s" },
      { name: "RSS", value: 123.456, unit: "MB" },
      { name: "rate", value: 0, unit: "1/s" },
    ]).split("\n"),
    ["time to join  1.23 s", "RSS            123 MB", "rate          0.00 1/s"],
  );
});
