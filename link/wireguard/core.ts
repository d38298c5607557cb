// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * The WireGuard device without its sockets: datagrams in and out, inner packets in and out.
 *
 * Invariant: an inner packet is delivered only if its source is the one address of the peer whose
 * session it came in, and its destination is our own; so peers cannot reach each other.
 *
 * @module
 */

import { addressKey } from "../addresses.ts";
import { packetBetween } from "../net/ipv6.ts";
import type { Timer, TimerQueue } from "../timers.ts";
import { hasMac2, MacChecker, type Source } from "./cookies.ts";
import type { CoreCounters, CoreOptions } from "./core_options.ts";
import {
  consumeInitiation,
  consumeResponse,
  createInitiation,
  createResponse,
  type LocalIdentity,
  remoteIdentity,
} from "./handshake.ts";
import { HandshakeQueue } from "./handshake_queue.ts";
import {
  COOKIE_REPLY,
  INITIATION,
  INITIATION_SPACING_MS,
  isLater,
  messageType,
  readUint32,
  RESPONSE,
  tai64n,
  TRANSPORT,
} from "./messages.ts";
import { Peer, type PeerHost } from "./peer.ts";
import { Session } from "./session.ts";
import { WakeQueue } from "./wake_queue.ts";

/** How long initiations are worked off at a stretch. */
const SLICE_MS = 2;
/** The same while no data flows: datagrams that come in meanwhile fit the socket's buffer. */
const QUIET_SLICE_MS = 5;
/** Data that flows at the same time gets up to this many times as long as initiations do. */
const DATA_SHARE = 4;
/** The same under a storm. */
const STORM_DATA_SHARE = 19;
/** What one message of data is given of that time: three times what it takes. */
const MESSAGE_MS = 0.1;
/** Without data for so long nobody waits for the next packet of an exchange. */
const QUIET_MS = 200;
/** Forgotten when it grows beyond this; it fills again with the next handshakes. */
const KNOWN_HOSTS_LIMIT = 50_000;

interface Indexed {
  readonly peer: Peer;
  /** Absent for the index of a handshake that we began. */
  readonly session?: Session;
}

const EMPTY = new Uint8Array(0);

/** A device's protocol state. */
export class WireguardCore implements PeerHost {
  readonly counters: CoreCounters = {
    malformed: 0,
    refusedHandshakes: 0,
    refusedTransports: 0,
    deferredHandshakes: 0,
    refusedPackets: 0,
  };
  readonly timers: TimerQueue;
  readonly #options: CoreOptions;
  readonly #identity: LocalIdentity;
  readonly #ownAddressKey: string;
  readonly #checker: MacChecker;
  readonly #indices = new Map<number, Indexed>();
  readonly #queue = new HandshakeQueue();
  readonly #pause: Timer;
  readonly #wake: WakeQueue;
  readonly #byKey = new Map<string, Peer>();
  readonly #byAddress = new Map<string, Peer>();
  /** Where peers were seen; under a storm they are answered before strangers. */
  readonly #knownHosts = new Set<string>();
  #isWorking = false;
  /** Messages with content, both ways, since the last slice of initiations. */
  #dataMessages = 0;
  #lastDataMs = -Infinity;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.timers = options.timers;
    this.#identity = options.identity;
    this.#ownAddressKey = addressKey(options.address);
    this.#wake = new WakeQueue(options.timers, () => options.nowMs());
    this.#pause = options.timers.create(() => this.#continueWork());
    this.#checker = new MacChecker(options.identity.publicKey, options.random);
  }

  /** Adds a peer; `undefined` when its key is a weak point. A peer of the same key or address goes. */
  addPeer(publicKey: Uint8Array, address: Uint8Array): Peer | undefined {
    const identity = remoteIdentity(this.#identity, publicKey);
    if (identity === undefined) return undefined;
    const peer = new Peer(this, identity, addressKey(address));
    for (const other of this.conflicts(publicKey, address)) this.removePeer(other);
    this.#byKey.set(keyOf(publicKey), peer);
    this.#byAddress.set(peer.addressKey, peer);
    return peer;
  }

  /** The peers that a new one with this key and address would take the place of. */
  conflicts(publicKey: Uint8Array, address: Uint8Array): Peer[] {
    const found = [this.#byKey.get(keyOf(publicKey)), this.#byAddress.get(addressKey(address))];
    return [...new Set(found)].filter((peer) => peer !== undefined);
  }

  /** Removes a peer and all its state. */
  removePeer(peer: Peer): void {
    peer.remove();
    const key = keyOf(peer.identity.publicKey);
    if (this.#byKey.get(key) === peer) this.#byKey.delete(key);
    if (this.#byAddress.get(peer.addressKey) === peer) this.#byAddress.delete(peer.addressKey);
  }

  /**
   * Goes to a peer whose endpoint is known from before a restart: it would keep on sending under
   * keys that nobody has any more, for up to two minutes.
   */
  wakePeer(peer: Peer): void {
    if (peer.endpoint !== undefined) this.#noteHost(peer.endpoint.hostname);
    this.#wake.add(peer);
  }

  /** Whether there is a peer with an inner address. */
  hasRoute(destination: string): boolean {
    return this.#byAddress.has(destination);
  }

  /** Sends an inner packet, whose memory may be used again; returns whether a peer has the address. */
  sendPacket(packet: Uint8Array, destination: string): boolean {
    const peer = this.#byAddress.get(destination);
    if (peer === undefined) return false;
    const nowMs = this.nowMs();
    if (peer.current?.isUsable(nowMs)) {
      this.#sendTransport(peer, peer.current, packet, nowMs);
    } else {
      // Whoever sends it waits for the handshake first, and then for an answer.
      this.#lastDataMs = nowMs;
      peer.enqueue(packet.slice());
      peer.startHandshake(nowMs);
    }
    return true;
  }

  /** Takes a datagram from the network; its memory may be used again when this returns. */
  receive(datagram: Uint8Array, source: Source): void {
    const type = messageType(datagram);
    if (type === TRANSPORT) return this.#receiveTransport(datagram, source);
    if (type === INITIATION) this.#queueInitiation(datagram, source);
    else if (type === RESPONSE) this.#receiveResponse(datagram, source);
    else if (type === COOKIE_REPLY) this.#receiveCookie(datagram);
    else this.counters.malformed++;
  }

  /** Works off initiations that wait, up to `limit` of them and for the time of a slice. */
  workOff(limit = Infinity): void {
    const startMs = this.nowMs();
    const sliceMs = this.#dataMessages > 0 ? SLICE_MS : QUIET_SLICE_MS;
    for (let i = 0; i < limit && this.nowMs() - startMs < sliceMs; i++) {
      const next = this.#queue.take(this.nowMs());
      if (next === undefined) break;
      if (!this.#receiveInitiation(next.message, next.source)) this.counters.refusedHandshakes++;
    }
  }

  /** Whether nothing but handshakes and keepalives has passed for a while. */
  get isQuiet(): boolean {
    return this.#wake.isIdle && this.nowMs() - this.#lastDataMs > QUIET_MS;
  }

  nowMs(): number {
    return this.#options.nowMs();
  }

  random(): number {
    return readUint32(this.#options.random(4), 0) / 0x1_0000_0000;
  }

  releaseIndex(index: number): void {
    this.#indices.delete(index);
  }

  sendInitiation(peer: Peer): void {
    if (peer.endpoint === undefined) return;
    if (peer.handshake !== undefined) this.releaseIndex(peer.handshake.localIndex);
    const created = createInitiation(
      this.#identity,
      peer.identity,
      this.#newIndex(),
      tai64n(this.#options.wallMs()),
      this.#options.random,
    );
    if (created === undefined) return;
    peer.handshake = created.state;
    this.#indices.set(created.state.localIndex, { peer });
    this.#sendHandshake(peer, created.message);
  }

  sendKeepalive(peer: Peer): void {
    const nowMs = this.nowMs();
    if (peer.current?.isUsable(nowMs)) {
      this.#sendTransport(peer, peer.current, EMPTY, nowMs);
    } else {
      peer.startHandshake(nowMs);
    }
  }

  #sendTransport(peer: Peer, session: Session, packet: Uint8Array, nowMs: number): void {
    if (peer.endpoint === undefined) return;
    const message = session.seal(packet);
    peer.sentBytes += message.length;
    peer.authenticatedSent(nowMs);
    if (packet.length > 0) {
      this.#noteData(nowMs);
      peer.dataSent(nowMs);
    }
    peer.keepFreshSending(nowMs);
    this.#options.send(message, peer.endpoint);
  }

  #sendHandshake(peer: Peer, message: Uint8Array): void {
    if (peer.endpoint === undefined) return;
    peer.macs.write(message, this.nowMs());
    peer.sentBytes += message.length;
    peer.authenticatedSent(this.nowMs());
    this.#options.send(message, peer.endpoint);
  }

  #sendWaiting(peer: Peer, nowMs: number): boolean {
    const session = peer.current;
    const packets = peer.waiting;
    if (session === undefined || packets.length === 0) return false;
    peer.waiting = [];
    for (const packet of packets) this.#sendTransport(peer, session, packet, nowMs);
    return true;
  }

  #queueInitiation(message: Uint8Array, source: Source): void {
    const nowMs = this.nowMs();
    const isOverloaded = this.#queue.isOverloaded(nowMs);
    const isKnownHost = this.#knownHosts.has(source.hostname);
    if (isOverloaded && !hasMac2(message) && !this.#queue.takeCookie(isKnownHost, nowMs)) {
      this.counters.deferredHandshakes++;
      return;
    }
    if (!this.#checker.isMac1Valid(message)) {
      this.counters.refusedHandshakes++;
      return;
    }
    const isProven = isOverloaded && this.#checker.isMac2Valid(message, source, nowMs);
    if (isOverloaded && !isProven) {
      this.counters.deferredHandshakes++;
      const reply = this.#checker.createReply(message, readUint32(message, 4), source, nowMs);
      this.#options.send(reply, source);
      return;
    }
    if (!this.#queue.add(message, source, nowMs, isProven)) this.counters.deferredHandshakes++;
    if (this.#isWorking) return;
    this.#isWorking = true;
    this.#options.defer(() => this.#continueWork());
  }

  #continueWork(): void {
    const startMs = this.nowMs();
    this.workOff();
    const nowMs = this.nowMs();
    this.#isWorking = this.#queue.length > 0;
    const wantedMs = this.#dataMessages * MESSAGE_MS;
    this.#dataMessages = 0;
    if (!this.#isWorking) return;
    const share = this.#queue.isOverloaded(nowMs) ? STORM_DATA_SHARE : DATA_SHARE;
    // Always a timer: work that is only put off to the next turn of the loop keeps the runtime from
    // looking at the sockets for up to 61 turns, and what comes in then overflows their buffers.
    this.#pause.set(nowMs + Math.min(wantedMs, share * (nowMs - startMs)));
  }

  #receiveInitiation(message: Uint8Array, source: Source): boolean {
    const consumed = consumeInitiation(
      this.#identity,
      message,
      (publicKey) => this.#byKey.get(keyOf(publicKey)),
    );
    if (consumed === undefined) return false;
    const { peer, received } = consumed;
    const nowMs = this.nowMs();
    if (
      !isLater(received.timestamp, peer.lastTimestamp) ||
      nowMs - peer.lastInitiationReceivedMs < INITIATION_SPACING_MS
    ) return false;
    const localIndex = this.#newIndex();
    const created = createResponse(peer.identity, received, localIndex, this.#options.random);
    if (created === undefined) return false;
    peer.lastTimestamp = Uint8Array.from(received.timestamp);
    peer.lastInitiationReceivedMs = nowMs;
    this.#noteReceived(peer, message, source, nowMs);
    this.#noteHost(source.hostname);
    const session = new Session(localIndex, false, nowMs, created.keys);
    this.#indices.set(localIndex, { peer, session });
    peer.adoptAsResponder(session, nowMs);
    this.#sendHandshake(peer, created.message);
    return true;
  }

  #receiveResponse(message: Uint8Array, source: Source): void {
    const localIndex = readUint32(message, 8);
    const peer = this.#indices.get(localIndex)?.peer;
    const handshake = peer?.handshake;
    const isExpected = handshake?.localIndex === localIndex && this.#checker.isMac1Valid(message);
    const keys = isExpected ? consumeResponse(this.#identity, handshake, message) : undefined;
    if (peer === undefined || keys === undefined) {
      this.counters.refusedHandshakes++;
      return;
    }
    const nowMs = this.nowMs();
    this.#noteReceived(peer, message, source, nowMs);
    this.#noteHost(source.hostname);
    const session = new Session(localIndex, true, nowMs, keys);
    this.#indices.set(localIndex, { peer, session });
    peer.adoptAsInitiator(session, nowMs);
    // The responder may not send before the first message under the new keys reaches it.
    if (!this.#sendWaiting(peer, nowMs)) this.#sendTransport(peer, session, EMPTY, nowMs);
  }

  #receiveCookie(message: Uint8Array): void {
    const peer = this.#indices.get(readUint32(message, 4))?.peer;
    if (!peer?.macs.consumeReply(message, this.nowMs())) this.counters.refusedHandshakes++;
  }

  #receiveTransport(message: Uint8Array, source: Source): void {
    const indexed = this.#indices.get(readUint32(message, 4));
    const nowMs = this.nowMs();
    const packet = indexed?.session?.isUsable(nowMs) ? indexed.session.open(message) : undefined;
    if (indexed === undefined || packet === undefined) {
      this.counters.refusedTransports++;
      return;
    }
    const { peer, session } = indexed;
    this.#noteReceived(peer, message, source, nowMs);
    if (session === peer.next) {
      peer.promoteNext(nowMs);
      this.#sendWaiting(peer, nowMs);
    }
    peer.keepFreshReceiving(nowMs);
    if (packet.length === 0) return;
    this.#noteData(nowMs);
    peer.dataReceived(nowMs);
    this.#deliver(peer, packet);
  }

  #noteData(nowMs: number): void {
    this.#dataMessages++;
    this.#lastDataMs = nowMs;
  }

  #noteReceived(peer: Peer, message: Uint8Array, source: Source, nowMs: number): void {
    peer.receivedBytes += message.length;
    const known = peer.endpoint;
    if (known?.port !== source.port || known.hostname !== source.hostname) {
      peer.endpoint = { hostname: source.hostname, port: source.port };
      this.#noteHost(source.hostname);
    }
    peer.authenticatedReceived(nowMs);
    this.#wake.heard(peer);
  }

  #noteHost(hostname: string): void {
    if (this.#knownHosts.has(hostname)) return;
    if (this.#knownHosts.size >= KNOWN_HOSTS_LIMIT) this.#knownHosts.clear();
    this.#knownHosts.add(hostname);
  }

  #deliver(peer: Peer, packet: Uint8Array): void {
    const whole = packetBetween(packet, peer.addressKey, this.#ownAddressKey);
    if (whole === undefined) this.counters.refusedPackets++;
    else this.#options.deliver(whole);
  }

  #newIndex(): number {
    let index: number;
    do index = readUint32(this.#options.random(4), 0); while (this.#indices.has(index));
    return index;
  }
}

function keyOf(publicKey: Uint8Array): string {
  return addressKey(publicKey) + addressKey(publicKey, 16);
}
