// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * TLS over any byte stream, as client and as server.
 *
 * It is `node:tls` over an adapter, because the runtime's own TLS takes only TCP connections and
 * cannot accept a self-signed certificate for one connection alone.
 *
 * @module
 */

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { CodedError } from "../base/errors.ts";
import { isIssuedBy, parseAuthorities } from "./client_certificate.ts";
import { byteStreamOf, duplexOf } from "./duplex.ts";
import type { ByteStream } from "./stream.ts";

/** A byte stream that is encrypted. */
export interface TlsStream extends ByteStream {
  /** What the peer showed, verified or not; `undefined` when it showed none. */
  readonly peerCertificate: X509Certificate | undefined;
  /** The protocol that both sides chose, for example `h2`. */
  readonly alpn: string | undefined;
}

/** Options of {@linkcode wrapTlsClient}. All certificates and keys are PEM. */
export interface TlsClientOptions {
  /** Authorities to trust instead of the system's. */
  readonly ca?: string;
  /** The client's certificate chain and its key. */
  readonly cert?: string;
  readonly key?: string;
  /** Name sent to and expected of the server; never an IP address. */
  readonly serverName?: string;
  /** IP address or name that the server's certificate must be for, when it differs from the above. */
  readonly verifyAddress?: string;
  /** Accepts any certificate, for a peer that is not known yet. */
  readonly insecure?: boolean;
  readonly alpn?: readonly string[];
  /** Time for the handshake, in milliseconds. */
  readonly timeoutMs?: number;
}

/** Options of {@linkcode wrapTlsServer}. All certificates and keys are PEM. */
export interface TlsServerOptions {
  readonly cert: string;
  readonly key: string;
  /** Authorities of client certificates. */
  readonly ca?: string;
  /**
   * `request` takes clients without a certificate and unverified ones too; `require` only those whose
   * certificate an authority of `ca` has signed.
   */
  readonly requestClientCert?: "none" | "request" | "require";
  readonly alpn?: readonly string[];
  /** Time for the handshake, in milliseconds. */
  readonly timeoutMs?: number;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

// A server that asks for client certificates without naming an authority would list the system's
// whole store in its handshake, which makes the message too large for some clients.
const EMPTY_CA: string[] = [];

/**
 * Begins TLS as a client and resolves when the handshake is done. Throws a `CodedError`
 * (`unavailable`) when it fails; then the stream is closed.
 */
export async function wrapTlsClient(
  stream: ByteStream,
  options: TlsClientOptions,
): Promise<TlsStream> {
  const { ca, cert, key, serverName, verifyAddress, insecure = false, alpn = ["h2"] } = options;
  const expected = verifyAddress ?? serverName;
  if (!insecure && expected === undefined) {
    stream.close();
    throw new CodedError("invalidArgument", "TLS needs a name or an address to verify");
  }
  const carrier = duplexOf(stream);
  const socket = tls.connect({
    socket: carrier,
    ALPNProtocols: [...alpn],
    rejectUnauthorized: !insecure,
    // Without a name the adapter would be asked for one that it does not have.
    servername: serverName ?? "",
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key: normalizeKey(key) }),
    ...(expected === undefined ? {} : {
      checkServerIdentity: (_: string, certificate: tls.PeerCertificate) =>
        tls.checkServerIdentity(expected, certificate),
    }),
  });
  return await handshake(socket, carrier, "secureConnect", options.timeoutMs);
}

/**
 * Begins TLS as a server and resolves when the handshake is done. Throws a `CodedError`
 * (`unavailable`, or `unauthenticated` for the client's certificate) when it fails; then the stream
 * is closed.
 */
export async function wrapTlsServer(
  stream: ByteStream,
  options: TlsServerOptions,
): Promise<TlsStream> {
  let secured: TlsStream | undefined;
  try {
    secured = await acceptTls(stream, options);
    if (options.requestClientCert !== "require") return secured;
    if (isTrusted(secured.peerCertificate, options.ca)) return secured;
    throw new CodedError(
      "unauthenticated",
      "TLS client showed no certificate of a trusted authority",
    );
  } catch (error) {
    // Options that cannot be used fail before the handshake or after it, with the stream still open.
    secured?.close();
    stream.close();
    throw error;
  }
}

async function acceptTls(stream: ByteStream, options: TlsServerOptions): Promise<TlsStream> {
  const { requestClientCert = "none", alpn = ["h2"] } = options;
  const carrier = duplexOf(stream);
  // The type asks for a socket, the implementation takes any duplex.
  const socket = new tls.TLSSocket(carrier as never, {
    isServer: true,
    secureContext: contextOf(options),
    ALPNProtocols: [...alpn],
    requestCert: requestClientCert !== "none",
    rejectUnauthorized: requestClientCert === "require",
  });
  return await handshake(socket, carrier, "secure", options.timeoutMs);
}

function isTrusted(certificate: X509Certificate | undefined, ca: string | undefined): boolean {
  return certificate !== undefined && ca !== undefined && isIssuedBy(certificate, ca, Date.now());
}

/** Throws when a certificate, its key or the authorities cannot be used. */
export function checkTlsServer(options: TlsServerOptions): void {
  // The runtime's context takes anything and fails only in a handshake, so the pair is tried here.
  const certificate = new X509Certificate(options.cert);
  if (!certificate.checkPrivateKey(createPrivateKey(normalizeKey(options.key)))) {
    throw new CodedError("invalidArgument", "The key does not belong to the certificate");
  }
  if (options.ca === undefined) return;
  // A file that was cut off in its writing holds the beginning of a certificate without its end.
  const begun = options.ca.split("-----BEGIN CERTIFICATE-----").length - 1;
  if (begun === 0 || parseAuthorities(options.ca).length < begun) {
    throw new CodedError("invalidArgument", "The authorities are not all certificates");
  }
}

function contextOf({ cert, key, ca }: TlsServerOptions): tls.SecureContext {
  return tls.createSecureContext({ cert, key: normalizeKey(key), ca: ca ?? EMPTY_CA });
}

/**
 * Renames the PEM header `ED25519 PRIVATE KEY`, with which `node:tls` sends no certificate and says
 * nothing; the content is the same.
 */
export function normalizeKey(pem: string): string {
  return pem.replace(/(-----(?:BEGIN|END) )ED25519 (PRIVATE KEY-----)/g, "$1$2");
}

async function handshake(
  socket: tls.TLSSocket,
  carrier: Duplex,
  event: "secureConnect" | "secure",
  timeoutMs = HANDSHAKE_TIMEOUT_MS,
): Promise<TlsStream> {
  await new Promise<void>((resolve, reject) => {
    const fail = (cause?: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      carrier.destroy();
      reject(new CodedError("unavailable", "TLS handshake failed", { cause }));
    };
    const timer = setTimeout(() => fail(new Error("it took too long")), timeoutMs);
    const closed = (): void => fail(new Error("the peer closed the connection"));
    socket.once("error", fail);
    socket.once("close", closed);
    // The end of the carrier does not reach the encrypted socket before the handshake is done.
    carrier.once("end", closed);
    carrier.once("close", closed);
    socket.once(event, () => {
      clearTimeout(timer);
      socket.off("error", fail);
      socket.off("close", closed);
      carrier.off("end", closed);
      carrier.off("close", closed);
      resolve();
    });
  });
  const shown = socket.getPeerCertificate();
  const plain = byteStreamOf(socket);
  return {
    ...plain,
    close: () => {
      plain.close();
      // The encrypted socket leaves its carrier open when it is destroyed.
      carrier.destroy();
    },
    peerCertificate: shown?.raw === undefined ? undefined : new X509Certificate(shown.raw),
    alpn: socket.alpnProtocol || undefined,
  };
}
