// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * A machine's side in the network namespace of its WireGuard, over the kernel's TCP.
 *
 * `join HOST:PORT TOKEN UUID PUBLIC-KEY` asks to be provisioned and prints the reply as JSON;
 * `report SERVER-ADDRESS LINE` publishes one status event and sends one line of kernel log;
 * `probe SERVER-ADDRESS PORT` prints whether a connection can be opened.
 *
 * @module
 */

import { create, toBinary } from "@bufbuild/protobuf";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { canonicalIpv6 } from "../../link/addresses.ts";
import { writeAll } from "../../rpc/write_all.ts";
import {
  MachineStatusEvent_MachineStage as Stage,
  MachineStatusEventSchema,
} from "../../proto/gen/talos/machine_pb.ts";
import { EventSinkService } from "../../proto/gen/siderolink/events_pb.ts";
import { ProvisionService } from "../../proto/gen/siderolink/link_pb.ts";
import { createChannel, createClient } from "../../rpc/client.ts";
import { dialTcp } from "../../rpc/tcp.ts";
import { EVENTS_PORT, LOGS_PORT } from "../../server/tunnel_ports.ts";

/** Far more than a handshake and a call take on a busy machine, in ms. */
const TIMEOUT_MS = 20_000;

const [command, first = "", second = "", third = "", fourth = ""] = Deno.args;

function channelTo(hostname: string, port: number) {
  return createChannel({
    dial: (signal) => dialTcp({ hostname, port, signal }),
    authority: "server",
  });
}

async function join(endpoint: string, joinToken: string, nodeUuid: string, nodePublicKey: string) {
  const [hostname = "", port] = endpoint.split(":");
  const channel = channelTo(hostname, Number(port));
  const reply = await createClient(ProvisionService, channel).provision(
    { joinToken, nodeUuid, nodePublicKey, talosVersion: "v1.12.11" },
    { timeoutMs: TIMEOUT_MS },
  );
  channel.close();
  console.log(JSON.stringify({
    serverPublicKey: reply.serverPublicKey,
    address: canonicalIpv6(reply.nodeAddressPrefix),
  }));
}

async function report(server: string, line: string) {
  const channel = channelTo(server, EVENTS_PORT);
  const event = create(MachineStatusEventSchema, { stage: Stage.MAINTENANCE });
  await createClient(EventSinkService, channel).publish({
    id: "cpu0000000000000000g",
    data: create(AnySchema, {
      typeUrl: `talos/runtime/${MachineStatusEventSchema.typeName}`,
      value: toBinary(MachineStatusEventSchema, event),
    }),
  }, { timeoutMs: TIMEOUT_MS });
  channel.close();
  const logs = await dialTcp({ hostname: server, port: LOGS_PORT });
  await writeAll(logs, new TextEncoder().encode(`${JSON.stringify({ msg: line })}\n`));
  await logs.closeWrite();
  logs.close();
}

/** A packet that is dropped brings no answer, so silence has to be waited for, in ms. */
const SILENCE_MS = 3_000;

async function probe(server: string, port: number) {
  try {
    const signal = AbortSignal.timeout(SILENCE_MS);
    (await dialTcp({ hostname: server, port, signal })).close();
    console.log("open");
  } catch {
    console.log("closed");
  }
}

if (command === "join") await join(first, second, third, fourth);
else if (command === "report") await report(first, second);
else await probe(first, Number(second));
