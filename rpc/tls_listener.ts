// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A TLS listener whose certificate follows its files.
 *
 * @module
 */

import { type Logger, silentLogger } from "../base/log.ts";
import { CodedError } from "../base/errors.ts";
import { MessageQueue } from "./message_queue.ts";
import type { IncomingStream, StreamListener } from "./stream.ts";
import { listenTcp, type TcpAddress } from "./tcp.ts";
import { checkTlsServer, type TlsServerOptions, wrapTlsServer } from "./tls.ts";

/** Options of {@linkcode listenTls}. */
export interface TlsListenerOptions extends TcpAddress {
  /** PEM files of the certificate chain, its key, and the authorities of client certificates. */
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile?: string;
  readonly requestClientCert?: TlsServerOptions["requestClientCert"];
  readonly alpn?: readonly string[];
  readonly handshakeTimeoutMs?: number;
  readonly log?: Logger;
}

// Handshakes cost time and memory before anyone is known, so that their number is bounded.
const MAX_HANDSHAKES = 512;

// Files are looked at with the next connection after this time.
const RELOAD_AFTER_MS = 1000;

/** Listens on TCP with TLS. Throws a `CodedError` when that or reading the files is impossible. */
export function listenTls(options: TlsListenerOptions): StreamListener {
  const files = new CertificateFiles(options);
  const tcp = listenTcp(options);
  const ready = new MessageQueue<IncomingStream>({ onReturn: () => close() });
  let handshakes = 0;
  let closed = false;
  const close = (): void => {
    closed = true;
    tcp.close();
    ready.end();
  };
  const encrypt = async (incoming: IncomingStream): Promise<void> => {
    handshakes++;
    try {
      const stream = await wrapTlsServer(incoming.stream, files.current());
      if (closed) stream.close();
      else ready.push({ ...incoming, stream });
    } catch {
      // Strangers fail handshakes all day; the stream is closed already.
    } finally {
      handshakes--;
    }
  };
  void (async () => {
    for await (const incoming of tcp) {
      if (handshakes >= MAX_HANDSHAKES) incoming.stream.close();
      else void encrypt(incoming);
    }
    ready.end();
  })();
  return {
    port: tcp.port,
    close,
    [Symbol.asyncIterator]: () => ready,
  };
}

/** Certificate and key as they are in their files. */
class CertificateFiles {
  readonly #options: TlsListenerOptions;
  readonly #log: Logger;
  #loaded: TlsServerOptions;
  #stamp: string;
  #checkedAtMs = performance.now();

  constructor(options: TlsListenerOptions) {
    this.#options = options;
    this.#log = options.log ?? silentLogger;
    try {
      this.#stamp = this.#readStamp();
      this.#loaded = this.#load();
    } catch (cause) {
      throw new CodedError("invalidArgument", "Cannot read the certificate files", {
        cause,
        details: { certFile: options.certFile, keyFile: options.keyFile },
      });
    }
  }

  /** What to serve with; files that changed to something unreadable are not taken over. */
  current(): TlsServerOptions {
    const nowMs = performance.now();
    if (nowMs - this.#checkedAtMs < RELOAD_AFTER_MS) return this.#loaded;
    this.#checkedAtMs = nowMs;
    try {
      const stamp = this.#readStamp();
      if (stamp !== this.#stamp) {
        this.#loaded = this.#load();
        this.#stamp = stamp;
        this.#log.info("tls certificate reloaded");
      }
    } catch (error) {
      this.#log.warn("tls certificate not reloaded", { error });
    }
    return this.#loaded;
  }

  #readStamp(): string {
    const { certFile, keyFile, caFile } = this.#options;
    return [certFile, keyFile, ...(caFile === undefined ? [] : [caFile])]
      .map((file) => {
        const { mtime, size, ino } = Deno.statSync(file);
        return `${mtime?.getTime()} ${size} ${ino}`;
      }).join(" ");
  }

  #load(): TlsServerOptions {
    const { certFile, keyFile, caFile, requestClientCert, alpn, handshakeTimeoutMs } =
      this.#options;
    const loaded: TlsServerOptions = {
      cert: Deno.readTextFileSync(certFile),
      key: Deno.readTextFileSync(keyFile),
      ...(caFile === undefined ? {} : { ca: Deno.readTextFileSync(caFile) }),
      ...(requestClientCert === undefined ? {} : { requestClientCert }),
      ...(alpn === undefined ? {} : { alpn }),
      ...(handshakeTimeoutMs === undefined ? {} : { timeoutMs: handshakeTimeoutMs }),
    };
    checkTlsServer(loaded);
    return loaded;
  }
}
