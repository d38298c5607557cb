// SPDX-License-Identifier: AGPL-3.0-or-later

import { strictEqual } from "node:assert/strict";
import { decodeStatusMessage, encodeStatusMessage } from "./status.ts";

Deno.test("encodeStatusMessage() leaves no space at either end, which HTTP/2 forbids", () => {
  for (const message of ["", "plain", " ends with spaces ", "50 %", "é ", "a\nb"]) {
    const encoded = encodeStatusMessage(message);
    strictEqual(/^ | $/.test(encoded), false, message);
    strictEqual(decodeStatusMessage(encoded), message);
  }
});
