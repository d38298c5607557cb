// SPDX-License-Identifier: AGPL-3.0-or-later

import { ok, throws } from "node:assert/strict";
import { CodedError } from "../base/errors.ts";
import { readDocuments } from "./ctl_document.ts";

Deno.test("readDocuments() names the document that the YAML library cannot take", () => {
  const texts = [
    "a: *nowhere",
    `a: &a [x, x]\nb: &b [*a, *a]\nc: [${"*b, ".repeat(200)}]`,
    `a: '${"''".repeat(2000)}'`,
    `a: ${"[".repeat(20_000)}`,
  ];
  for (const text of texts) {
    throws(() => readDocuments(text, "f.yaml"), (error) => {
      ok(error instanceof CodedError && error.code === "invalidArgument", String(error));
      ok(error.message.startsWith("Cannot read f.yaml: "), error.message);
      return true;
    });
  }
});
