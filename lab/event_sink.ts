// SPDX-License-Identifier: AGPL-3.0-or-later

/**
 * Sends a machine's events and kernel log to where its configuration says.
 *
 * @module
 */

import { backoffMs } from "../base/retry.ts";
import { EventSinkService } from "../proto/gen/siderolink/events_pb.ts";
import { createChannel, createClient } from "../rpc/client.ts";
import type { Boot } from "./boot.ts";
import { dialFrom } from "./join.ts";
import { formatHostPort, type HostPort } from "./kernel_args.ts";
import { sendKernelLog } from "./kernel_log.ts";

/** A node retries an event after 1 to 30 seconds. */
const BACKOFF = { initialMs: 1_000, maximumMs: 30_000 };

const PUBLISH_TIMEOUT_MS = 10_000;

/** Sends events one at a time, the same one until it is acknowledged, until the power goes. */
export async function sendEvents(boot: Boot): Promise<void> {
  const { core, signal } = boot;
  for (let failures = 0; !signal.aborted;) {
    const sink = await targetOf(boot, () => boot.config?.server.eventSink ?? core.server.eventSink);
    const channel = createChannel({
      dial: (dialSignal) => dialFrom(boot, sink, dialSignal),
      authority: formatHostPort(sink),
    });
    try {
      const client = createClient(EventSinkService, channel);
      for (;;) {
        const event = await boot.events.next(signal);
        await client.publish(event, { timeoutMs: PUBLISH_TIMEOUT_MS, signal });
        boot.events.acknowledge(event.id);
        failures = 0;
      }
    } catch {
      // The sink is away. A node does not report that anywhere else.
      await core.clock.sleep(backoffMs(++failures, BACKOFF), signal);
    } finally {
      channel.close();
    }
  }
}

/** Sends the kernel log until the power goes. */
export async function sendKernelLines(boot: Boot): Promise<void> {
  const { core, signal } = boot;
  const receiver = await targetOf(
    boot,
    () => boot.config?.server.kernelLog ?? core.server.kernelLog,
  );
  await sendKernelLog({
    log: boot.kernelLog,
    dial: (dialSignal) => dialFrom(boot, receiver, dialSignal),
    clock: core.clock,
    signal,
  });
}

/** Waits for the tunnel and for a target. */
async function targetOf(boot: Boot, find: () => HostPort | undefined): Promise<HostPort> {
  await boot.core.changed.until(
    () => boot.tunnel !== undefined && find() !== undefined,
    boot.signal,
  );
  const target = find();
  if (target === undefined) throw new TypeError("a target that was there is gone");
  return target;
}
