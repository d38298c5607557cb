// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Between byte streams and the streams of `node:stream`, which `node:tls` works on.
 *
 * @module
 */

import { Duplex } from "node:stream";
import { giveBuffer, takeBuffer } from "./buffers.ts";
import type { ByteStream } from "./stream.ts";
import { writeAll } from "./write_all.ts";

// A record of TLS has at most 16 KiB; a silent connection should not hold room for a whole one.
const READ_BYTES = 2048;
const LARGE_READ_BYTES = 16 * 1024;

/** A `node:stream` over a byte stream. Destroying it closes the byte stream. */
export function duplexOf(stream: ByteStream): Duplex {
  let size = READ_BYTES;
  const pull = async (): Promise<void> => {
    const buffer = takeBuffer(size);
    try {
      const count = await stream.read(buffer);
      if (count === null) {
        duplex.push(null);
        return;
      }
      size = count === buffer.length ? LARGE_READ_BYTES : READ_BYTES;
      // A copy, because the reader may keep what it gets.
      duplex.push(buffer.slice(0, count));
    } catch (error) {
      duplex.destroy(error as Error);
    } finally {
      giveBuffer(buffer);
    }
  };
  const duplex = new Duplex({
    allowHalfOpen: true,
    read: () => void pull(),
    write: (chunk: Uint8Array, _encoding, done) => {
      writeAll(stream, chunk).then(() => done(), done);
    },
    final: (done) => {
      stream.closeWrite().then(() => done(), done);
    },
    destroy: (error, done) => {
      stream.close();
      done(error);
    },
  });
  return duplex;
}

/** A byte stream over a `node:stream`. */
export function byteStreamOf(socket: Duplex): ByteStream {
  let rest: Uint8Array | undefined;
  let ended = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;
  const notify = (): void => {
    wake?.();
    wake = undefined;
  };
  const finish = (): void => {
    ended = true;
    notify();
  };
  socket.on("readable", notify);
  socket.on("end", finish);
  socket.on("close", finish);
  socket.on("error", (error) => {
    failure = error;
    finish();
  });
  return {
    read: async (buffer) => {
      for (;;) {
        const chunk: Uint8Array | undefined = rest ?? socket.read() ?? undefined;
        if (chunk !== undefined) {
          const count = Math.min(chunk.length, buffer.length);
          buffer.set(count === chunk.length ? chunk : chunk.subarray(0, count));
          rest = count === chunk.length ? undefined : chunk.subarray(count);
          return count;
        }
        if (failure !== undefined) throw failure;
        if (ended) return null;
        await new Promise<void>((resolve) => wake = resolve);
      }
    },
    write: (data) =>
      new Promise((resolve, reject) => {
        socket.write(data, (error) => error ? reject(error) : resolve(data.length));
      }),
    closeWrite: () => new Promise((resolve) => socket.end(() => resolve())),
    close: () => {
      socket.destroy();
    },
  };
}
