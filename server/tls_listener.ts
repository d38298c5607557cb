// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Puts TLS before a port.
 *
 * @module
 */

import { CodedError } from "../base/errors.ts";
import type { Logger } from "../base/log.ts";
import type { IncomingStream, StreamListener } from "../rpc/stream.ts";
import { type TlsServerOptions, wrapTlsServer } from "../rpc/tls.ts";

/** Handshakes that run at once; a stranger who opens more is turned away before any work is done. */
const MAX_HANDSHAKES = 256;

/** Where the certificate of a port is. */
export interface TlsFiles {
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/**
 * Returns the listener itself where no certificate is configured, else one that hands out streams
 * whose handshake is done.
 *
 * @throws CodedError `invalidArgument` naming the file that cannot be read.
 */
export function withTls(listener: StreamListener, files: TlsFiles, log: Logger): StreamListener {
  const { certificate, key } = files;
  if (certificate === undefined || key === undefined) return listener;
  const options = { cert: readPem(certificate), key: readPem(key) };
  return {
    port: listener.port,
    close: () => listener.close(),
    [Symbol.asyncIterator]: () => handshakes(listener, options, log),
  };
}

function readPem(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (cause) {
    throw new CodedError("invalidArgument", `Cannot read "${path}" of a TLS port`, { cause });
  }
}

async function* handshakes(
  listener: StreamListener,
  options: TlsServerOptions,
  log: Logger,
): AsyncGenerator<IncomingStream> {
  const ready: IncomingStream[] = [];
  let running = 0;
  let ended = false;
  let wake = Promise.withResolvers<void>();
  const shake = async (incoming: IncomingStream): Promise<void> => {
    running++;
    try {
      ready.push({ ...incoming, stream: await wrapTlsServer(incoming.stream, options) });
    } catch (error) {
      log.debug("tls handshake failed", { address: incoming.remoteAddress, error });
    }
    running--;
    wake.resolve();
  };
  const accepting = (async () => {
    for await (const incoming of listener) {
      if (running < MAX_HANDSHAKES) void shake(incoming);
      else incoming.stream.close();
    }
  })().finally(() => {
    ended = true;
    wake.resolve();
  });
  try {
    while (!ended || running > 0 || ready.length > 0) {
      for (let next = ready.shift(); next !== undefined; next = ready.shift()) yield next;
      if (ended && running === 0) break;
      await wake.promise;
      wake = Promise.withResolvers();
    }
    await accepting;
  } finally {
    for (const { stream } of ready) stream.close();
  }
}
