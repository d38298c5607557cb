// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { createScreen } from "./lab_screen.ts";
import type { LabStatus } from "./lab_status.ts";

const status = (stage: string): LabStatus => ({
  machines: [{ id: "m1", hostname: "h", isConnected: true, stage, cluster: "", error: "" }],
  clusters: [],
});

function record(isTerminal: boolean, columns = 80) {
  const written: string[] = [];
  const screen = createScreen({
    isTerminal,
    columns: () => columns,
    write: (text) => void written.push(text),
  });
  return { screen, written };
}

Deno.test("createScreen() prints plain lines where nothing can be redrawn", () => {
  const { screen, written } = record(false);
  screen.print("hello");
  screen.show(status("booting"));
  screen.show(status("booting"));
  screen.show(status("running"));
  assert.equal(
    written.join(""),
    "hello\nmachine m1 is connected\nmachine m1 is booting\nmachine m1 is running\n",
  );
});

Deno.test("createScreen() redraws its table in place on a terminal", () => {
  const { screen, written } = record(true);
  screen.show(status("booting"));
  screen.show(status("booting"));
  screen.show(status("running"));
  screen.print("hello");
  assert.equal(written.length, 3);
  assert.equal(written[0]?.startsWith("\n"), true);
  // Four lines up, all below blank, then the new table.
  assert.equal(written[1]?.startsWith("\x1b[4A\x1b[J\nMACHINE"), true);
  assert.equal(written[2]?.startsWith("\x1b[4A\x1b[Jhello\n\nMACHINE"), true);
});

Deno.test("createScreen() cuts lines at the width of the terminal, when it has one", () => {
  const narrow = record(true, 30);
  narrow.screen.show(status("booting"));
  assert.ok((narrow.written[0] ?? "").split("\n").every((line) => line.length < 30));
  const unknown = record(true, 0);
  unknown.screen.show(status("booting"));
  assert.match(unknown.written[0] ?? "", /booting/);
});
