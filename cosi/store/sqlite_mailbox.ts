// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * How a batch gets to the worker of the state file: through memory that both threads share, on which
 * the worker sleeps. A message between threads takes about 80 µs each way where both have gone to
 * sleep; waking by shared memory takes a third of that, which a lone write waits for twice.
 *
 * Everything else goes by messages. The worker cannot see them while it sleeps here, so that each is
 * counted in the shared memory, and it goes to fetch it.
 *
 * @module
 */

import { encodeEpochs } from "./epochs.ts";
import type { FileBatch } from "./sqlite_file.ts";
import type { StoreBatch } from "./store.ts";

/** Room for a batch of some hundred usual resources. */
export const MAILBOX_BYTES = 1 << 20;

/** Words at the beginning of the memory. */
const WORD = {
  /** Changes with everything that the worker may wait for. */
  turn: 0,
  /** How many messages were posted. */
  posted: 1,
  /** 1 while a batch is there that is not committed. */
  commit: 2,
  /** Length of the wire forms, in bytes. */
  wires: 3,
  /** Length of the text behind them: the head of the batch, afterwards the reply, 0 for none. */
  text: 4,
} as const;

const HEAD_BYTES = 32;

/** What is told of a batch besides its wire forms, which lie one behind the other. */
interface Head {
  readonly revision: number;
  /** In base64. */
  readonly epochs?: string | undefined;
  readonly keyRotated: boolean;
  /** Namespace, type, ID, revision, whether a record exists, length of the wire form (-1: remove). */
  readonly changes: readonly (readonly [string, string, string, number, boolean, number])[];
}

function words(memory: SharedArrayBuffer): Int32Array<SharedArrayBuffer> {
  return new Int32Array(memory, 0, HEAD_BYTES / 4);
}

function headOf({ changes, revision, epochs, keyRotated = false }: StoreBatch): string {
  const head: Head = {
    revision,
    epochs: epochs && encodeEpochs(epochs).toBase64(),
    keyRotated,
    changes: changes.map(({ ref: { namespace, type, id }, resource, revision, storedVersion }) => [
      namespace,
      type,
      id,
      revision,
      storedVersion > 0,
      resource?.wire.length ?? -1,
    ]),
  };
  return JSON.stringify(head);
}

/** Writes a batch into the memory, or into new memory when it does not fit; returns which it is. */
export function writeBatch(memory: SharedArrayBuffer, batch: StoreBatch): SharedArrayBuffer {
  const head = headOf(batch);
  let wires = 0;
  for (const { resource } of batch.changes) wires += resource?.wire.length ?? 0;
  // A character of text takes three bytes at most.
  const needed = HEAD_BYTES + wires + 3 * head.length;
  const used = needed <= memory.byteLength ? memory : new SharedArrayBuffer(needed);
  const bytes = new Uint8Array(used, HEAD_BYTES);
  let at = 0;
  for (const { resource } of batch.changes) {
    if (resource === undefined) continue;
    bytes.set(resource.wire, at);
    at += resource.wire.length;
  }
  const { written } = new TextEncoder().encodeInto(head, bytes.subarray(at));
  const control = words(used);
  control[WORD.wires] = at;
  control[WORD.text] = written;
  return used;
}

/** Reads the batch that {@linkcode writeBatch} has written. */
export function readBatch(memory: SharedArrayBuffer): FileBatch {
  const control = words(memory);
  const [length = 0, text = 0] = [control[WORD.wires], control[WORD.text]];
  // A copy: what others may write to is not taken by ciphers, and the memory is for the next batch.
  const bytes = new Uint8Array(memory, HEAD_BYTES).slice(0, length + text);
  const head: Head = JSON.parse(new TextDecoder().decode(bytes.subarray(length)));
  let at = 0;
  return {
    revision: head.revision,
    epochs: head.epochs === undefined ? undefined : Uint8Array.fromBase64(head.epochs),
    keyRotated: head.keyRotated,
    changes: head.changes.map(([namespace, type, id, revision, exists, size]) => {
      const wire = size < 0 ? undefined : bytes.subarray(at, at + size);
      at += Math.max(0, size);
      return { namespace, type, id, wire, revision, exists };
    }),
  };
}

/** The side of the thread that asks. */
export class MailboxCaller {
  readonly memory = new SharedArrayBuffer(MAILBOX_BYTES);
  readonly #words = words(this.memory);

  /** Wakes the worker for a message that is being posted. */
  notePosted(): void {
    Atomics.add(this.#words, WORD.posted, 1);
    this.#wake();
  }

  /** Has the batch in the memory committed; resolves with the reply, "" for success. */
  async commit(): Promise<string> {
    Atomics.store(this.#words, WORD.commit, 1);
    this.#wake();
    await Atomics.waitAsync(this.#words, WORD.commit, 1).value;
    const length = this.#words[WORD.text] ?? 0;
    return new TextDecoder().decode(new Uint8Array(this.memory, HEAD_BYTES, length));
  }

  #wake(): void {
    Atomics.add(this.#words, WORD.turn, 1);
    Atomics.notify(this.#words, WORD.turn);
  }
}

/**
 * The side of the worker: commits what comes, until there is a message to be handled.
 *
 * @param handled How many messages were handled.
 * @param commit Commits the batch in the memory and returns the reply, "" for success.
 */
export function serveMailbox(
  memory: SharedArrayBuffer,
  handled: number,
  commit: (memory: SharedArrayBuffer) => string,
): void {
  const control = words(memory);
  for (;;) {
    const turn = Atomics.load(control, WORD.turn);
    if (Atomics.load(control, WORD.posted) !== handled) return;
    if (Atomics.load(control, WORD.commit) === 0) {
      Atomics.wait(control, WORD.turn, turn);
      continue;
    }
    const reply = commit(memory);
    const { written } = new TextEncoder().encodeInto(reply, new Uint8Array(memory, HEAD_BYTES));
    control[WORD.text] = written;
    Atomics.store(control, WORD.commit, 0);
    Atomics.notify(control, WORD.commit);
  }
}
