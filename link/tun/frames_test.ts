// SPDX-License-Identifier: AGPL-3.0-or-later

import assert from "node:assert/strict";
import { ipv6Bytes } from "../addresses.ts";
import {
  checksum,
  IPV6_HEADER_SIZE,
  onesSum,
  PROTOCOL_ICMPV6,
  PROTOCOL_TCP,
  SOURCE_OFFSET,
  writeIpv6Header,
} from "../net/ipv6.ts";
import {
  ACK,
  FIN,
  optionsSize,
  parseTcp,
  PSH,
  seqAdd,
  SYN,
  TCP_HEADER_SIZE,
  writeTcpHeader,
} from "../net/tcp_segment.ts";
import { assertSame, pattern, seededRandom } from "../testing.ts";
import { createFrameBuilder, cutFrame, FRAME_HEADER_SIZE } from "./frames.ts";

const SERVER = ipv6Bytes("fdae:41e4:649b:9303::1");
const MACHINE = ipv6Bytes("fdae:41e4:649b:9303::5");
const CWR = 0x80;

interface Segment {
  readonly port?: number;
  readonly seq?: number;
  readonly ack?: number;
  readonly flags?: number;
  readonly window?: number;
  readonly payload?: Uint8Array;
}

/** A packet of TCP with timestamps and a right checksum. */
function tcp(segment: Segment): Uint8Array {
  const { port = 40_000, seq = 1, ack = 7, flags = ACK, window = 500 } = segment;
  const payload = segment.payload ?? new Uint8Array(0);
  const options = { timestamps: { value: 1, echo: 2 } };
  const size = IPV6_HEADER_SIZE + TCP_HEADER_SIZE + optionsSize(options);
  const packet = new Uint8Array(size + payload.length);
  writeIpv6Header(packet, PROTOCOL_TCP, MACHINE, SERVER);
  const header = { sourcePort: port, destinationPort: 8091, seq, ack, flags, window, options };
  packet.set(payload, writeTcpHeader(packet, header));
  return withChecksum(packet);
}

function withChecksum(packet: Uint8Array): Uint8Array {
  const at = IPV6_HEADER_SIZE + 16;
  packet.fill(0, at, at + 2);
  const sum = checksum(packet);
  packet[at] = sum >> 8;
  packet[at + 1] = sum & 0xff;
  return packet;
}

/** A frame as the kernel makes it: the checksum field holds the sum over the pseudo-header. */
function frameOf(packet: Uint8Array, segmentSize: number, isLarge: boolean): Uint8Array {
  const length = packet.length - IPV6_HEADER_SIZE;
  const sum = onesSum(packet, SOURCE_OFFSET, IPV6_HEADER_SIZE, length + PROTOCOL_TCP);
  const frame = new Uint8Array(FRAME_HEADER_SIZE + packet.length);
  frame.set(packet, FRAME_HEADER_SIZE);
  const view = new DataView(frame.buffer);
  view.setUint8(0, 1);
  view.setUint8(1, isLarge ? 4 : 0);
  view.setUint16(4, isLarge ? segmentSize : 0, true);
  view.setUint16(6, IPV6_HEADER_SIZE, true);
  view.setUint16(8, 16, true);
  view.setUint16(FRAME_HEADER_SIZE + IPV6_HEADER_SIZE + 16, sum);
  return frame;
}

function cut(frame: Uint8Array): Uint8Array[] {
  const packets: Uint8Array[] = [];
  const count = cutFrame(frame, (packet) => packets.push(packet.slice()));
  assert.equal(count, packets.length);
  return packets;
}

/** The frames that packets become. */
function build(packets: readonly Uint8Array[]): Uint8Array[] {
  const frames: Uint8Array[] = [];
  const builder = createFrameBuilder((frame) => frames.push(frame.slice()) > 0);
  for (const packet of packets) builder.add(packet);
  builder.flush();
  return frames;
}

Deno.test("cutFrame() cuts a large segment into packets with right headers and checksums", () => {
  const payload = pattern(3 * 1208 + 5);
  const seq = 0xffff_ff00;
  const packets = cut(frameOf(tcp({ seq, flags: ACK | PSH | FIN | CWR, payload }), 1208, true));
  assert.deepEqual(packets.map((packet) => packet.length), [1280, 1280, 1280, 77]);
  let at = 0;
  for (const [index, packet] of packets.entries()) {
    assert.equal(checksum(packet), 0);
    assert.equal(((packet[4] ?? 0) << 8) | (packet[5] ?? 0), packet.length - IPV6_HEADER_SIZE);
    const segment = parseTcp(packet);
    assert.ok(segment !== undefined);
    assert.equal(segment.seq, seqAdd(seq, at));
    assert.equal(segment.flags & (FIN | PSH), index === 3 ? FIN | PSH : 0);
    assert.equal(segment.flags & CWR, index === 0 ? CWR : 0);
    assert.deepEqual(segment.options, { timestamps: { value: 1, echo: 2 } });
    assertSame(segment.payload, payload.subarray(at, at + segment.payload.length));
    at += segment.payload.length;
  }
  assert.equal(at, payload.length);
});

Deno.test("cutFrame() cuts segments that are smaller than their headers", () => {
  const payload = pattern(50);
  const packets = cut(frameOf(tcp({ payload }), 8, true));
  assert.equal(packets.length, 7);
  assert.ok(packets.every((packet) => checksum(packet) === 0));
  const bytes = packets.flatMap((packet) => [...parseTcp(packet)?.payload ?? []]);
  assert.deepEqual(bytes, [...payload]);
});

Deno.test("cutFrame() completes the checksum of an ordinary packet, and leaves a complete one", () => {
  const packet = tcp({ payload: pattern(33) });
  assert.deepEqual(cut(frameOf(packet, 0, false)), [packet]);
  const complete = new Uint8Array(FRAME_HEADER_SIZE + packet.length);
  complete.set(packet, FRAME_HEADER_SIZE);
  assert.deepEqual(cut(complete), [packet]);
});

Deno.test("cutFrame() drops what it cannot understand", () => {
  const frame = frameOf(tcp({ payload: pattern(2000) }), 1208, true);
  const altered = (change: (frame: Uint8Array) => void): Uint8Array => {
    const copy = frame.slice();
    change(copy);
    return copy;
  };
  const noSize = altered((copy) => copy.fill(0, 4, 6));
  const otherType = altered((copy) => copy[1] = 5);
  const otherProtocol = altered((copy) => copy[FRAME_HEADER_SIZE + 6] = PROTOCOL_ICMPV6);
  const shortHeader = altered((copy) => copy[FRAME_HEADER_SIZE + IPV6_HEADER_SIZE + 12] = 0x40);
  const cutOff = frame.slice(0, FRAME_HEADER_SIZE + 50);
  const checksumBeyond = altered((copy) => {
    copy[1] = 0;
    copy.fill(0xff, 6, 8);
  });
  for (const bad of [noSize, otherType, otherProtocol, shortHeader, cutOff, checksumBeyond]) {
    assert.deepEqual(cut(bad), []);
  }
});

Deno.test("createFrameBuilder() makes one frame of packets that follow each other", () => {
  const payload = pattern(40 * 1208 + 100);
  const packets = [];
  for (let at = 0; at < payload.length; at += 1208) {
    packets.push(tcp({ seq: at, window: at, payload: payload.subarray(at, at + 1208) }));
  }
  const frames = build(packets);
  assert.equal(frames.length, 1);
  const [frame = new Uint8Array()] = frames;
  const view = new DataView(frame.buffer);
  assert.deepEqual([view.getUint8(0), view.getUint8(1)], [1, 4]);
  assert.deepEqual([view.getUint16(2, true), view.getUint16(4, true)], [72, 1208]);
  assert.deepEqual([view.getUint16(6, true), view.getUint16(8, true)], [40, 16]);
  const segment = parseTcp(frame.subarray(FRAME_HEADER_SIZE));
  assert.equal(segment?.window, 40 * 1208);
  assertSame(segment.payload, payload);
  // What the kernel would add up to a right checksum.
  const sum = onesSum(frame, FRAME_HEADER_SIZE + IPV6_HEADER_SIZE, frame.length);
  const completed = frame.slice(FRAME_HEADER_SIZE);
  new DataView(completed.buffer).setUint16(IPV6_HEADER_SIZE + 16, ~sum & 0xffff);
  assert.equal(checksum(completed), 0);
});

Deno.test("createFrameBuilder() writes packets apart that the kernel does not take together", () => {
  const packets = [...Array(5).keys()].map((i) =>
    tcp({ seq: i * 1208, payload: pattern(i === 4 ? 3 : 1208) })
  );
  const written: Uint8Array[] = [];
  const builder = createFrameBuilder((frame) => {
    if (frame.length > 2000) return false;
    written.push(frame.slice());
    return true;
  });
  for (const packet of packets) builder.add(packet);
  builder.flush();
  assert.deepEqual(written.map((frame) => frame.slice(FRAME_HEADER_SIZE)), packets);
  assert.ok(written.every((frame) => frame.subarray(0, FRAME_HEADER_SIZE).every((byte) => !byte)));
});

Deno.test("createFrameBuilder() never makes a packet larger than one may be", () => {
  const packets = Array.from(
    { length: 60 },
    (_, i) => tcp({ seq: i * 1208, payload: pattern(1208) }),
  );
  const frames = build(packets);
  assert.equal(frames.length, 2);
  assert.ok(frames.every((frame) => frame.length <= FRAME_HEADER_SIZE + 40 + 65_535));
  assert.equal(frames.flatMap(cut).length, 60);
});

Deno.test("createFrameBuilder() leaves alone what must not be put together", () => {
  const payload = pattern(100);
  const first = tcp({ seq: 0, payload });
  const different: Readonly<Record<string, Uint8Array>> = {
    "another connection": tcp({ port: 40_001, seq: 100, payload }),
    "a gap": tcp({ seq: 101, payload }),
    "the same again": first,
    "another acknowledgement": tcp({ seq: 100, ack: 8, payload }),
    "a longer payload": tcp({ seq: 100, payload: pattern(101) }),
    "an acknowledgement without payload": tcp({ seq: 100 }),
    "the end": tcp({ seq: 100, flags: ACK | FIN, payload }),
    "the begin": tcp({ seq: 100, flags: SYN }),
    "no TCP": (() => {
      const packet = new Uint8Array(60);
      writeIpv6Header(packet, PROTOCOL_ICMPV6, MACHINE, SERVER);
      return packet;
    })(),
  };
  for (const [what, second] of Object.entries(different)) {
    const plain = (packet: Uint8Array) => [...new Uint8Array(FRAME_HEADER_SIZE), ...packet];
    assert.deepEqual(
      build([first, second]).map((frame) => [...frame]),
      [plain(first), plain(second)],
      what,
    );
  }
  const pushed = tcp({ seq: 0, flags: ACK | PSH, payload });
  assert.equal(build([pushed, tcp({ seq: 100, payload })]).length, 2);
  assert.equal(build([first, tcp({ seq: 100, payload: pattern(50) })]).length, 1);
});

Deno.test("cutFrame() gives back exactly the packets that createFrameBuilder() took", () => {
  const seed = Number(Deno.env.get("BATUTA_SEED") ?? Math.trunc(Math.random() * 2 ** 31));
  console.log(`BATUTA_SEED=${seed}`);
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  const nextSeq = new Map<number, number>();
  const packets = Array.from({ length: 3_000 }, () => {
    const port = 40_000 + (random() < 0.9 ? 0 : below(3));
    const seq = random() < 0.95 ? nextSeq.get(port) ?? 0 : below(2 ** 32);
    const size = random() < 0.8 ? 1208 : below(1209);
    const flags = ACK | (random() < 0.1 ? PSH : 0) | (random() < 0.02 ? FIN : 0);
    nextSeq.set(port, seqAdd(seq, size));
    return tcp({ port, seq, flags, ack: below(50) === 0 ? 8 : 7, payload: pattern(size) });
  });
  const frames = build(packets);
  assert.ok(frames.length < packets.length / 2, `${frames.length} frames`);
  const again = frames.flatMap(cut);
  assert.equal(again.length, packets.length);
  for (const [i, packet] of packets.entries()) {
    assertSame(again[i] ?? new Uint8Array(), packet);
  }
});
