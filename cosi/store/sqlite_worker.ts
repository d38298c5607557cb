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

/** What the main thread asks. */
export type SqliteRequest =
  | { readonly op: "open"; readonly path: string; readonly keys: StateKeys | undefined }
  | { readonly op: "next" }
  | ({ readonly op: "commit" } & PackedBatch)
  | { readonly op: "compact" }
  | { readonly op: "close" };

/** A batch with all its wire forms in one buffer, which changes hands without a copy. */
export interface PackedBatch {
  readonly revision: number;
  readonly epochs: Uint8Array | undefined;
  readonly keyRotated: boolean;
  /** Namespace, type and ID of each change. */
  readonly names: readonly string[];
  /** Revision, whether a record exists (0 or 1) and length of the wire form (-1: remove). */
  readonly numbers: Float64Array;
  readonly wires: Uint8Array<ArrayBuffer>;
}

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
  | { readonly ok: false; readonly code: ErrorCode; readonly message: string };

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

function opened(): SqliteFile {
  if (file === undefined) throw new CodedError("internal", "The state file is not open");
  return file;
}

function handle(request: SqliteRequest): FileHead | PackedResources | undefined {
  switch (request.op) {
    case "open":
      file = new SqliteFile(request.path, createCodec(request.keys));
      file.checkCounts();
      return file.head();
    case "next":
      return pack(opened().nextResources(PIECE));
    case "commit":
      commit(request);
      return undefined;
    case "compact":
      opened().compact();
      return undefined;
    case "close":
      file?.close();
      return undefined;
  }
}

function commit({ names, numbers, wires, ...rest }: PackedBatch): void {
  let at = 0;
  const changes = Array.from({ length: names.length / 3 }, (_, index) => {
    const length = numbers[index * 3 + 2] ?? -1;
    const wire = length < 0 ? undefined : wires.subarray(at, at + length);
    at += Math.max(0, length);
    return {
      namespace: names[index * 3] ?? "",
      type: names[index * 3 + 1] ?? "",
      id: names[index * 3 + 2] ?? "",
      wire,
      revision: numbers[index * 3] ?? 0,
      exists: numbers[index * 3 + 1] === 1,
    };
  });
  opened().commit({ changes, ...rest });
}

function reply(request: SqliteRequest): SqliteReply {
  try {
    return { ok: true, value: handle(request) };
  } catch (error) {
    const code = error instanceof CodedError ? error.code : "internal";
    return { ok: false, code, message: formatError(error) };
  }
}

function run(): void {
  const scope = self as unknown as {
    onmessage: (event: MessageEvent<SqliteRequest>) => void;
    postMessage(message: unknown, transfer?: Transferable[]): void;
  };
  scope.onmessage = ({ data }) => {
    const answer = reply(data);
    const transfer = answer.ok && answer.value !== undefined && "wires" in answer.value
      ? [answer.value.wires.buffer]
      : [];
    scope.postMessage(answer, transfer);
  };
  scope.postMessage(WORKER_READY);
}

// This module is an entry point: its import starts the worker, and only in a worker.
if ("WorkerGlobalScope" in globalThis) run();
