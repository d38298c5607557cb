// SPDX-License-Identifier: AGPL-3.0-or-later

import { deepStrictEqual, notStrictEqual, strictEqual } from "node:assert/strict";
import { draft, KIND, ref } from "../state/conformance.ts";
import { openState } from "../state/core.ts";
import { RawResource } from "../state/raw_resource.ts";
import { openSqliteStore } from "./sqlite.ts";
import { MAILBOX_BYTES, readBatch, writeBatch } from "./sqlite_mailbox.ts";
import type { StoreBatch } from "./store.ts";

/** Names that a text form could break. */
const NAMES = ['a"b\\c', "nul\0 and \u0007", "é ☃ 𝒳", "lone \ud800 surrogate", ""];

function batchOf(spec: Uint8Array): StoreBatch {
  const changes = NAMES.map((id, index) => ({
    ref: { namespace: "default", type: "test/thing", id },
    resource: index === 1
      ? undefined
      : new RawResource({ ...draft(`r${index}`).metadata, version: 1 }, spec),
    revision: 2 ** 40 + index,
    storedVersion: index,
  }));
  return { changes, revision: 2 ** 40 + NAMES.length, keyRotated: true };
}

Deno.test("readBatch() reads what writeBatch() has written", () => {
  const memory = new SharedArrayBuffer(MAILBOX_BYTES);
  const batch = batchOf(new Uint8Array(100).fill(7));
  const epochs = [{ cookie: 2n ** 63n, startRevision: 5 }];
  strictEqual(writeBatch(memory, { ...batch, epochs }), memory);
  const read = readBatch(memory);
  // What is written next must not show through.
  new Uint8Array(memory).fill(255);
  strictEqual(read.revision, batch.revision);
  strictEqual(read.keyRotated, true);
  strictEqual(read.epochs?.length, 16);
  deepStrictEqual(
    read.changes.map(({ namespace, type, id, revision, exists }) => [
      namespace,
      type,
      id,
      revision,
      exists,
    ]),
    NAMES.map((id, index) => ["default", "test/thing", id, 2 ** 40 + index, index > 0]),
  );
  deepStrictEqual(
    read.changes.map(({ wire }) => wire?.toHex()),
    batch.changes.map(({ resource }) => resource?.wire.toHex()),
  );
});

Deno.test("writeBatch() takes other memory for a batch that does not fit", () => {
  const memory = new SharedArrayBuffer(MAILBOX_BYTES);
  const batch = batchOf(new Uint8Array(MAILBOX_BYTES / 2));
  const used = writeBatch(memory, batch);
  notStrictEqual(used, memory);
  strictEqual(readBatch(used).changes[4]?.wire?.toHex(), batch.changes[4]?.resource?.wire.toHex());
});

Deno.test("a state keeps small and large batches in turn", async () => {
  const directory = await Deno.makeTempDir();
  const open = async () =>
    await openState({ store: await openSqliteStore({ path: `${directory}/state` }) });
  const state = await open();
  for (let round = 0; round < 20; round++) {
    const size = round % 2 === 0 ? 10 : MAILBOX_BYTES;
    await Promise.all(
      ["a", "b", "c"].map((name) =>
        state.create({ ...draft(`${name}${round}`), protoSpec: new Uint8Array(size).fill(round) })
      ),
    );
    await state.destroy(ref(`c${round}`));
  }
  await state.close();
  const again = await open();
  const sizes = (await again.list(KIND)).map(({ protoSpec }) => protoSpec.length);
  strictEqual(sizes.filter((size) => size === 10).length, 20);
  strictEqual(sizes.filter((size) => size === MAILBOX_BYTES).length, 20);
  await again.close();
  await Deno.remove(directory, { recursive: true });
});
