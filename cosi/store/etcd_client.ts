// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A client of etcd's API, version 3, over one or several members.
 *
 * @module
 */

import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { CodedError, codeOf } from "../../base/errors.ts";
import {
  KV,
  Lease,
  type LeaseGrantResponseSchema,
  type RangeRequestSchema,
  type RangeResponseSchema,
  type TxnRequestSchema,
  type TxnResponseSchema,
} from "../../proto/gen/etcd/etcd_pb.ts";
import { type Channel, createChannel } from "../../rpc/channel.ts";
import { type Client, createClient } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { wrapTlsClient } from "../../rpc/tls.ts";

/** PEM texts for members that are reached over TLS. */
export interface EtcdTls {
  /** Authorities of the members' certificates; the system's when absent. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** Options of {@linkcode createEtcdClient}. */
export interface EtcdClientOptions {
  /** Client URLs of the members, `http://host:port` or `https://host:port`. */
  readonly endpoints: readonly string[];
  readonly tls?: EtcdTls | undefined;
}

/** The calls that the store makes. Each throws a `CodedError`: `unavailable` may be tried again. */
export interface EtcdClient {
  range(
    request: MessageInitShape<typeof RangeRequestSchema>,
  ): Promise<MessageShape<typeof RangeResponseSchema>>;
  /** After `unavailable` it is not known whether the transaction was made. */
  txn(
    request: MessageInitShape<typeof TxnRequestSchema>,
  ): Promise<MessageShape<typeof TxnResponseSchema>>;
  grantLease(ttlSeconds: number): Promise<MessageShape<typeof LeaseGrantResponseSchema>>;
  revokeLease(id: bigint): Promise<void>;
  /** Renews a lease; the seconds it then has left, 0 when it is gone. */
  keepLease(id: bigint, timeoutMs: number): Promise<number>;
  close(): void;
}

/** A page of large resources is larger than what strangers may send. */
const MESSAGE_BYTES = 512 << 20;

/** Longer than an election among the members takes. */
const CALL_TIMEOUT_MS = 5_000;
const DIAL_TIMEOUT_MS = 2_000;

interface Member {
  readonly channel: Channel;
  readonly kv: Client<typeof KV>;
  readonly lease: Client<typeof Lease>;
}

/** Creates a client; it dials with the first call and goes to another member when one fails. */
export function createEtcdClient({ endpoints, tls }: EtcdClientOptions): EtcdClient {
  const members = endpoints.map((endpoint) => connectMember(endpoint, tls));
  let current = 0;
  const call = async <T>(run: (member: Member) => Promise<T>): Promise<T> => {
    const member = members[current % members.length];
    if (member === undefined) throw new CodedError("invalidArgument", "etcd has no endpoints");
    try {
      return await run(member);
    } catch (error) {
      if (codeOf(error) !== "unavailable" && codeOf(error) !== "deadlineExceeded") throw error;
      current++;
      throw new CodedError(
        "unavailable",
        `Cannot reach etcd at ${member.channel.authority}`,
        { cause: error },
      );
    }
  };
  const options = { timeoutMs: CALL_TIMEOUT_MS };
  return {
    range: (request) => call(({ kv }) => kv.range(request, options)),
    txn: (request) => call(({ kv }) => kv.txn(request, options)),
    grantLease: (ttlSeconds) =>
      call(({ lease }) => lease.leaseGrant({ ttl: BigInt(ttlSeconds) }, options)),
    async revokeLease(id) {
      await call(({ lease }) => lease.leaseRevoke({ id }, options));
    },
    keepLease: (id, timeoutMs) =>
      call(async ({ lease }) => {
        const requests = (async function* () {
          yield { id };
        })();
        for await (const { ttl } of lease.leaseKeepAlive(requests, { timeoutMs })) {
          return Number(ttl);
        }
        throw new CodedError("unavailable", "etcd did not answer the renewal of the lease");
      }),
    close: () => members.forEach(({ channel }) => channel.close()),
  };
}

function connectMember(endpoint: string, tls: EtcdTls | undefined): Member {
  const { hostname, port, protocol, host } = parseEndpoint(endpoint);
  const channel = createChannel({
    authority: host,
    scheme: protocol === "https:" ? "https" : "http",
    dialTimeoutMs: DIAL_TIMEOUT_MS,
    backoff: { initialMs: 50, maximumMs: 1_000 },
    limits: { maxMessageBytes: MESSAGE_BYTES },
    async dial(signal) {
      const stream = await dialTcp({ hostname, port, signal });
      if (protocol === "http:") return stream;
      const isAddress = /^[0-9.]+$|:/.test(hostname);
      return await wrapTlsClient(stream, {
        alpn: ["h2"],
        ...(isAddress ? { verifyAddress: hostname } : { serverName: hostname }),
        ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
        ...(tls?.cert === undefined ? {} : { cert: tls.cert }),
        ...(tls?.key === undefined ? {} : { key: tls.key }),
      });
    },
  });
  return { channel, kv: createClient(KV, channel), lease: createClient(Lease, channel) };
}

function parseEndpoint(
  endpoint: string,
): { hostname: string; port: number; protocol: string; host: string } {
  const url = URL.parse(endpoint);
  if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new CodedError(
      "invalidArgument",
      `Cannot use etcd: the endpoint must be "http(s)://host:port": current value is "${endpoint}"`,
    );
  }
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const hostname = url.hostname.replace(/^\[|\]$/g, "");
  return { hostname, port, protocol: url.protocol, host: url.host };
}
