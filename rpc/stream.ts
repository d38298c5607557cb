// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The byte stream that everything above a transport is written against.
 *
 * A TCP or TLS connection of the runtime is one as it stands; a stream of the tunnel is another.
 *
 * @module
 */

/** A duplex stream of bytes with back-pressure. */
export interface ByteStream {
  /**
   * Reads at least one byte into `buffer` and returns how many, or `null` at the end of the stream.
   * One read at a time; the buffer belongs to the stream until the promise settles.
   */
  read(buffer: Uint8Array): Promise<number | null>;
  /**
   * Writes at least one byte of `data` and returns how many; it settles when the peer's side can
   * take more. One write at a time; the data belongs to the stream until the promise settles.
   */
  write(data: Uint8Array): Promise<number>;
  /** Sends the end of the stream; reading goes on. */
  closeWrite(): Promise<void>;
  /** Ends both directions at once; pending reads and writes settle. May be called twice. */
  close(): void;
}

/** A stream together with where it comes from. */
export interface IncomingStream {
  readonly stream: ByteStream;
  /** The peer's address without its port. */
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** Accepts streams until it is closed; iterating ends when it is. */
export interface StreamListener extends AsyncIterable<IncomingStream> {
  /** The port listened on, never 0. */
  readonly port: number;
  close(): void;
}
