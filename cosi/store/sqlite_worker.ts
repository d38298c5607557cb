// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The worker that owns the SQLite file: compression, encryption and the wait for the disk happen here.
 *
 * @module
 */

import { CodedError, type ErrorCode, formatError } from "../../base/errors.ts";
import { WORKER_READY } from "../../base/worker.ts";
import { fieldSize, writeBytesField } from "../state/proto_bytes.ts";
import { createCodec, type StateKeys } from "./codec.ts";
import { type KindRow, SqliteFile } from "./sqlite_file.ts";
import { readBatch, serveMailbox } from "./sqlite_mailbox.ts";

/** What the main thread asks. */
export type SqliteRequest =
  | {
    readonly op: "open";
    readonly path: string;
    readonly keys: StateKeys | undefined;
    /** Through which batches come from then on. */
    readonly memory: SharedArrayBuffer;
  }
  | { readonly op: "next" }
  /** A batch that is too large for that memory, in memory of its own. */
  | { readonly op: "commit"; readonly memory: SharedArrayBuffer }
  | { readonly op: "compact" }
  | { readonly op: "close" };

/** Resources, each as the field 1 of a message, one message behind the other in one buffer. */
export interface PackedResources {
  readonly lengths: Uint32Array;
  readonly wires: Uint8Array<ArrayBuffer>;
}

/** What is stored besides the resources. */
export interface FileHead {
  readonly revision: number;
  readonly epochs: Uint8Array;
  readonly kinds: readonly KindRow[];
}

/** The answer to one request. */
export type SqliteReply =
  | { readonly ok: true; readonly value: FileHead | PackedResources | undefined }
  | ({ readonly ok: false } & SqliteFailure);

/** What went wrong, in a form that crosses threads. */
export interface SqliteFailure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Bytes of resources in one answer. */
const PIECE = 1 << 20;

function pack(wires: readonly Uint8Array[]): PackedResources {
  const lengths = Uint32Array.from(wires, (wire) => fieldSize(wire.length));
  const packed = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const wire of wires) at = writeBytesField(packed, at, 1, wire);
  return { lengths, wires: packed };
}

let file: SqliteFile | undefined;
let memory: SharedArrayBuffer | undefined;

function opened(): SqliteFile {
  if (file === undefined) throw new CodedError("internal", "The state file is not open");
  return file;
}

function handle(request: SqliteRequest): FileHead | PackedResources | undefined {
  switch (request.op) {
    case "open":
      file = new SqliteFile(request.path, createCodec(request.keys));
      memory = request.memory;
      file.checkCounts();
      return file.head();
    case "next":
      return pack(opened().nextResources(PIECE));
    case "commit":
      opened().commit(readBatch(request.memory));
      return undefined;
    case "compact":
      opened().compact();
      return undefined;
    case "close":
      file?.close();
      memory = undefined;
      return undefined;
  }
}

function failureOf(error: unknown): SqliteFailure {
  const code = error instanceof CodedError ? error.code : "internal";
  return { code, message: formatError(error) };
}

function commit(memory: SharedArrayBuffer): string {
  try {
    opened().commit(readBatch(memory));
    return "";
  } catch (error) {
    return JSON.stringify(failureOf(error));
  }
}

function reply(request: SqliteRequest): SqliteReply {
  try {
    return { ok: true, value: handle(request) };
  } catch (error) {
    return { ok: false, ...failureOf(error) };
  }
}

function run(): void {
  const scope = self as unknown as {
    onmessage: (event: MessageEvent<SqliteRequest>) => void;
    postMessage(message: unknown, transfer?: Transferable[]): void;
  };
  let handled = 0;
  scope.onmessage = ({ data }) => {
    handled++;
    const answer = reply(data);
    const transfer = answer.ok && answer.value !== undefined && "wires" in answer.value
      ? [answer.value.wires.buffer]
      : [];
    scope.postMessage(answer, transfer);
    if (memory !== undefined) serveMailbox(memory, handled, commit);
  };
  scope.postMessage(WORKER_READY);
}

// This module is an entry point: its import starts the worker, and only in a worker.
if ("WorkerGlobalScope" in globalThis) run();
