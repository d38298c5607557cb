// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual } from "node:assert/strict";
import { loopTurn } from "../base/turn.ts";
import { Outbox } from "./outbox.ts";
import type { ByteStream } from "./stream.ts";

/** An outbox whose writes are kept and taken at once. */
function recording(): { readonly outbox: Outbox; readonly writes: string[] } {
  const writes: string[] = [];
  const stream: ByteStream = {
    read: () => Promise.resolve(null),
    write: (bytes) => {
      writes.push(new TextDecoder().decode(bytes));
      return Promise.resolve(bytes.length);
    },
    closeWrite: () => Promise.resolve(),
    close: () => {},
  };
  return { outbox: new Outbox(stream, { onWritten: () => {}, onWriteFailed: () => {} }), writes };
}

function put(outbox: Outbox, text: string): number {
  const bytes = new TextEncoder().encode(text);
  const at = outbox.reserve(bytes.length);
  outbox.buffer.set(bytes, at);
  return at + bytes.length;
}

Deno.test("what one turn commits leaves in one write", async () => {
  const { outbox, writes } = recording();
  outbox.commit(put(outbox, "one "));
  outbox.commit(put(outbox, "two"));
  await loopTurn();
  deepStrictEqual(writes, ["one two"]);
});

Deno.test("commitLazily() lets what other work of the turn makes come along", async () => {
  const { outbox, writes } = recording();
  outbox.cork();
  outbox.commitLazily(put(outbox, "answer, "));
  outbox.uncork();
  // Another connection was read at the same time, and what it asks for is made a step later.
  queueMicrotask(() => outbox.commit(put(outbox, "event")));
  await loopTurn();
  deepStrictEqual(writes, ["answer, event"]);
});

Deno.test("commitLazily() leaves in the same turn, alone if it has to", async () => {
  const { outbox, writes } = recording();
  outbox.commitLazily(put(outbox, "answer"));
  await loopTurn();
  deepStrictEqual(writes, ["answer"]);
});

Deno.test("commitLazily() holds up nothing that is in a hurry", () => {
  const { outbox, writes } = recording();
  outbox.cork();
  outbox.commit(put(outbox, "reply "));
  outbox.commitLazily(put(outbox, "answer"));
  outbox.uncork();
  deepStrictEqual(writes, ["reply answer"]);
});
