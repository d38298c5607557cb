// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { differingFiles } from "./generate.ts";

Deno.test("differingFiles() finds edited, missing and surplus files", () => {
  const committed = new Map([["same", "a"], ["edited", "a"], ["surplus", "a"]]);
  const generated = new Map([["same", "a"], ["edited", "b"], ["missing", "a"]]);
  deepStrictEqual(differingFiles(committed, generated), ["edited", "missing", "surplus"]);
});
