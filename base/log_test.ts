// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Secret } from "./redact.ts";
import { createLogger } from "./log.ts";

Deno.test("createLogger() writes one JSON line for each message from its level on", () => {
  const lines: string[] = [];
  const log = createLogger({ level: "warn", write: (line) => lines.push(line) });
  log.debug("quiet");
  log.info("quiet");
  log.warn("link lost", { machine: "m", attempt: 2 });
  log.error("write failed", { error: new Error("outer", { cause: new Error("inner") }) });
  strictEqual(
    lines.every((line) => line.endsWith("\n") && !line.slice(0, -1).includes("\n")),
    true,
  );
  const [first, second] = lines.map((line) => JSON.parse(line));
  deepStrictEqual({ ...first, time: "" }, {
    level: "warn",
    time: "",
    machine: "m",
    attempt: 2,
    msg: "link lost",
  });
  strictEqual(second.error, "outer: inner");
  strictEqual(new Date(first.time).toISOString(), first.time);
});

Deno.test("createLogger() shows no secret that stands in a field", () => {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => lines.push(line) });
  log.info("token given", { reason: new Secret("hunter2") as unknown as string });
  strictEqual(lines.join("").includes("hunter2"), false);
});
